-- Healthy: every group is Ready at the wanted revision. Degraded: a group is not Ready in half as much again as its startup
-- probe gives it. Argo CD's Lua has no string library; times are compared as the text that they are.
local os = require("os")
local status = obj.status or {}
local wanted = obj.spec.replicas or 1
local ready = status.readyReplicas or 0
local count = ready .. " of " .. wanted .. " groups are Ready"
local queue = (obj.metadata.labels or {})["kueue.x-k8s.io/queue-name"] or (obj.metadata.labels or {})["kai.scheduler/queue"]

-- The field came with LeaderWorkerSet 0.9. Before, a change reads Healthy until the controller has seen it.
if status.observedGeneration ~= nil and status.observedGeneration < obj.metadata.generation then
  return {status = "Progressing", message = "the controller has not seen the last change yet"}
end

local on = {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.status == "True" then
    on[condition.type] = condition
  end
end

local partition = ((obj.spec.rolloutStrategy or {}).rollingUpdateConfiguration or {}).partition or 0
if on.Available and ready >= wanted then
  if partition > 0 and (status.updatedReplicas or 0) < wanted then
    return {status = "Suspended", message = "the groups below number " .. partition .. " keep the old revision (rollout.partition)"}
  end
  return {status = "Healthy", message = count}
end

local function startupSeconds()
  local template = obj.spec.leaderWorkerTemplate
  local pod = (template.leaderTemplate or template.workerTemplate).spec
  local longest = 0
  for _, container in ipairs(pod.containers) do
    local probe = container.startupProbe
    if probe ~= nil then
      local seconds = (probe.initialDelaySeconds or 0) + (probe.periodSeconds or 10) * (probe.failureThreshold or 3)
      if seconds > longest then
        longest = seconds
      end
    end
  end
  return longest
end

local doing = count
if on.UpdateInProgress then
  doing = "rolling out: " .. (status.updatedReplicas or 0) .. " of " .. wanted .. " groups have the new revision, " .. count
end
if queue ~= nil then
  return {status = "Progressing", message = doing .. "; queue " .. queue .. " decides when the others start"}
end
local seconds = startupSeconds() * 1.5 * (on.UpdateInProgress and wanted or 1)
local since = on.Progressing or on.UpdateInProgress
-- With a time to write, Argo CD's os.date writes it in the local zone: so the fields of UTC are read as if they were local.
local begun = os.date("%Y-%m-%dT%H:%M:%SZ", os.time(os.date("!*t")) - seconds)
if since ~= nil and seconds > 0 and since.lastTransitionTime < begun then
  return {status = "Degraded", message = doing .. ", since " .. since.lastTransitionTime .. ": longer than a start may take"}
end
return {status = "Progressing", message = doing}
