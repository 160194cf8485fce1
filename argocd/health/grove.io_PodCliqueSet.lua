-- The status has no condition that says Ready, so the counters are read, in an order that a half-done rollout passes.
local status = obj.status or {}
local wanted = obj.spec.replicas or 0
local count = (status.availableReplicas or 0) .. " of " .. wanted .. " groups are Ready"
local queue = (obj.metadata.labels or {})["kai.scheduler/queue"]
local waits = queue ~= nil and "; queue " .. queue .. " decides when the others start" or ""

local first = (status.lastErrors or {})[1]
if first ~= nil then
  return {status = "Degraded", message = first.code .. ": " .. first.description}
end
local progress = status.updateProgress
if progress ~= nil and progress.updateEndedAt == nil then
  return {status = "Progressing", message = "rolling out: " .. (status.updatedReplicas or 0) .. " of " .. wanted .. " groups have the new revision, " .. count}
end
-- Raised only when a rollout has ended.
if status.observedGeneration == nil or status.observedGeneration < obj.metadata.generation then
  return {status = "Progressing", message = "the last change is not done yet, " .. count .. waits}
end
if wanted == 0 then
  return {status = "Suspended", message = "no groups are wanted"}
end
if (status.availableReplicas or 0) < wanted then
  return {status = "Progressing", message = count .. waits}
end
if (status.updatedReplicas or 0) < wanted then
  local strategy = (obj.spec.updateStrategy or {}).type
  return {
    status = strategy == "OnDelete" and "Suspended" or "Progressing",
    message = (status.updatedReplicas or 0) .. " of " .. wanted .. " groups have the new revision",
  }
end
return {status = "Healthy", message = count}
