-- One group's claim to its GPUs. Kueue's own words are the message.
local status = obj.status or {}
local is = {}
for _, condition in ipairs(status.conditions or {}) do
  is[condition.type] = condition
end
local function holds(kind)
  return is[kind] ~= nil and is[kind].status == "True"
end

if holds("Finished") then
  return {status = is.Finished.reason == "Failed" and "Degraded" or "Healthy", message = is.Finished.message}
end
if obj.spec.active == false then
  local evicted = is.Evicted or {}
  -- By hand it is `Deactivated`; Kueue's own reasons say what it gave up on.
  local byHand = evicted.reason == nil or evicted.reason == "Deactivated"
  return {status = byHand and "Suspended" or "Degraded", message = evicted.message or "deactivated (spec.active: false)"}
end
if holds("Admitted") and holds("Evicted") then
  -- On its way out: the next admission takes the condition away.
  return {status = "Progressing", message = is.Evicted.message}
end
if holds("Admitted") then
  local pods = is.PodsReady
  if pods ~= nil and pods.status == "False" then
    return {status = "Progressing", message = pods.message}
  end
  return {status = "Healthy", message = pods ~= nil and pods.message or is.Admitted.message}
end
if holds("Evicted") and is.Evicted.reason == "PodsReadyTimeout" then
  return {status = "Degraded", message = is.Evicted.message}
end
local quota = is.QuotaReserved
if quota == nil then
  return {status = "Progressing", message = "Kueue has not looked at it yet"}
end
if quota.status == "False" and quota.reason == "Inadmissible" then
  -- The queue is missing or closed: waiting does not mend that.
  return {status = "Degraded", message = quota.message}
end
return {status = "Progressing", message = quota.message}
