local status = obj.status or {}
local wanted = obj.spec.replicas or 1
local ready, updated = status.readyReplicas or 0, status.updatedReplicas or 0
local hs = {status = "Progressing"}
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "UpdateInProgress" and condition.status == "True" then
    hs.message = updated .. " of " .. wanted .. " groups have the new revision"
    return hs
  end
end
if ready < wanted or updated < wanted then
  hs.message = ready .. " of " .. wanted .. " groups are Ready"
  return hs
end
hs.status = "Healthy"
hs.message = wanted .. " groups are Ready"
return hs
