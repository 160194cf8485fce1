-- Every group once, in the order and number of a rollout. Git does not have the annotation, and need not: self-heal
-- leaves what it does not know in a map.
local os = require("os")
local template = obj.spec.leaderWorkerTemplate
for _, pod in pairs({template.leaderTemplate or template.workerTemplate, template.workerTemplate}) do
  pod.metadata = pod.metadata or {}
  pod.metadata.annotations = pod.metadata.annotations or {}
  pod.metadata.annotations["lockstep/restarted-at"] = os.date("!%Y-%m-%dT%XZ")
end
return obj
