-- Healthy only when the operator says so of this generation.
local is = {}
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.observedGeneration == obj.metadata.generation then
    is[condition.type] = condition
  end
end
local needs = is.DependenciesFulfilled
if needs ~= nil and needs.status == "False" then
  return {status = "Degraded", message = needs.message or needs.reason}
end
for _, kind in ipairs({"Deployed", "Available", "DependenciesFulfilled"}) do
  if is[kind] == nil or is[kind].status ~= "True" then
    return {status = "Progressing", message = kind .. " is not True yet"}
  end
end
return {status = "Healthy", message = "deployed and available"}
