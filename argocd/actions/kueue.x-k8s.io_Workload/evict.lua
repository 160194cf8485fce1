-- One group gives its GPUs back and waits until `admit`; the others go on.
obj.spec.active = false
return obj
