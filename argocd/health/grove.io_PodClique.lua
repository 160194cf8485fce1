-- The only place where Grove says that a pod cannot be made from its template.
local status = obj.status or {}
local wanted = obj.spec.replicas or 1
local ready, placed = status.readyReplicas or 0, status.scheduledReplicas or 0
local count = ready .. " of " .. wanted .. " pods are Ready"

local first = (status.lastErrors or {})[1]
if first ~= nil then
  return {status = "Degraded", message = first.code .. ": " .. first.description}
end
if placed < wanted then
  return {status = "Progressing", message = placed .. " of " .. wanted .. " pods have a node"}
end
return {status = ready < wanted and "Progressing" or "Healthy", message = count}
