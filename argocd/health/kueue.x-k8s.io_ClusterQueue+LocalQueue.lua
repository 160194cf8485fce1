local status = obj.status or {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Active" then
    if condition.status == "True" then
      return {status = "Healthy", message = (status.admittedWorkloads or 0) .. " groups admitted, " .. (status.pendingWorkloads or 0) .. " waiting"}
    end
    return {status = condition.reason == "Stopped" and "Suspended" or "Degraded", message = condition.message}
  end
end
return {status = "Progressing", message = "Kueue has not looked at it yet"}
