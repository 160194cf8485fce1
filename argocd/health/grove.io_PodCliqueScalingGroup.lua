local status = obj.status or {}
local wanted = obj.spec.replicas or 1
local ready, placed = status.availableReplicas or 0, status.scheduledReplicas or 0
local count = ready .. " of " .. wanted .. " groups are Ready"

local first = (status.lastErrors or {})[1]
if first ~= nil then
  return {status = "Degraded", message = first.code .. ": " .. first.description}
end
local progress = status.updateProgress
if progress ~= nil and progress.updateEndedAt == nil then
  return {status = "Progressing", message = "rolling out, " .. count}
end
if status.observedGeneration == nil or status.observedGeneration < obj.metadata.generation then
  return {status = "Progressing", message = "the controller has not seen the last change yet"}
end
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "MinAvailableBreached" and condition.status == "True" then
    return {status = "Degraded", message = count .. ": " .. (condition.message or condition.reason)}
  end
end
if placed < wanted then
  return {status = "Progressing", message = placed .. " of " .. wanted .. " groups have their nodes"}
end
if ready < wanted then
  return {status = "Progressing", message = count}
end
if (status.updatedReplicas or 0) < wanted then
  return {status = "Progressing", message = (status.updatedReplicas or 0) .. " of " .. wanted .. " groups have the new revision"}
end
return {status = "Healthy", message = count}
