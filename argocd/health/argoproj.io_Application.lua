-- Argo CD has had no health of Applications since 1.8; without it the root looks Healthy over sick models.
local health = (obj.status or {}).health or {}
return {status = health.status or "Progressing", message = health.message or ""}
