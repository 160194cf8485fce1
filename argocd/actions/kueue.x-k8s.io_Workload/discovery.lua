local active = obj.spec.active ~= false
return {["evict"] = {["disabled"] = not active}, ["admit"] = {["disabled"] = active}}
