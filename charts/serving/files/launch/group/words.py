"""The names of states and reasons: one list for the log, the metrics, the probes and the docs.

``docs/lifecycle.md`` shows the same names; a test compares the two.
"""

from __future__ import annotations

# States of a group. Rank 0 decides; the others say what they last heard.
JOINING = "joining"
ASSEMBLING = "assembling"
PREPARING = "preparing"
STARTING = "starting"
SERVING = "serving"
STOPPING = "stopping"
DRAINING = "draining"
FAILED = "failed"
ENDED = "ended"

STATES = {
    JOINING: "a rank looks for its leader; no engine runs in its container",
    ASSEMBLING: "the leader waits for ranks that are not there, or may not be let in",
    PREPARING: "all ranks are there; the preLaunch hooks run",
    STARTING: "every rank was told to start its engine; the group does not answer yet",
    SERVING: "the engine of every rank runs and the group answers",
    STOPPING: "engines of the last incarnation are being stopped, or waited for",
    DRAINING: "the group is out of rotation and finishes the requests it has",
    FAILED: "the supervisor gives up and ends with an error; the stack takes over",
    ENDED: "the supervisor ends because it was told to",
}

# Faults: each makes every rank stop its engine, and the group assemble again.
ENGINE_EXIT = "engine-exit"
ENGINE_HUNG = "engine-hung"
ENGINE_UNHEALTHY = "engine-unhealthy"
LAUNCH_FAILED = "launch-failed"
START_TIMEOUT = "start-timeout"
RANK_SILENT = "rank-silent"
RANK_REPLACED = "rank-replaced"
LEADER_SILENT = "leader-silent"

FAULTS = {
    ENGINE_EXIT: "an engine ended that nobody had told to, whatever its exit code",
    ENGINE_HUNG: "a one-token completion did not return and nothing else moved for stallSeconds",
    ENGINE_UNHEALTHY: "the engine's health page says no, or nothing listens any more",
    LAUNCH_FAILED: "launch.sh could not say this rank's command, or the command could not run",
    START_TIMEOUT: "the engines ran for startup.seconds and the group still did not answer",
    RANK_SILENT: "the leader heard nothing from a rank for the deadline, or its connection ended",
    RANK_REPLACED: "a rank came back as a new process",
    LEADER_SILENT: "a rank heard nothing from its leader for the deadline, or its connection ended",
}

# Planned stops: no fault, not counted as a restart.
DRAINED = "drained"
TERMINATED = "terminated"
NEW_INCARNATION = "new-incarnation"

STOPS = {
    DRAINED: "the requests ended, or drain.seconds did",
    TERMINATED: "SIGTERM, with nothing to finish, or for the second time",
    NEW_INCARNATION: "the leader has left the incarnation that this engine belongs to",
}

# What a group waits for before it starts.
RANK_MISSING = "rank-missing"
RANK_STOPPING = "rank-stopping"
RANK_REFUSED = "rank-refused"
FENCE = "fence"
HOOKS = "hooks"
LEADER_MISSING = "leader-missing"

WAITS = {
    RANK_MISSING: "a rank has not joined",
    RANK_STOPPING: "a rank still stops an engine",
    RANK_REFUSED: "a pod that must not be there claims a rank",
    FENCE: "a rank was lost without a word: its engine is given the time to end by itself",
    HOOKS: "preLaunch hooks run",
    LEADER_MISSING: "a rank cannot reach its leader, or may not join it",
}

# Why a rank is not let in.
DUPLICATE_RANK = "duplicate-rank"
COUNT_DIFFERS = "count-differs"
LAUNCH_DIFFERS = "launch-differs"
LAYOUT_DIFFERS = "layout-differs"
VERSION_DIFFERS = "version-differs"

REFUSALS = {
    DUPLICATE_RANK: "another living pod holds this rank",
    COUNT_DIFFERS: "the pod was told another number of nodes, or a rank outside it",
    LAUNCH_DIFFERS: "the pod runs other launch files than its leader",
    LAYOUT_DIFFERS: "the pod has another model, layout or engine arguments than its leader",
    VERSION_DIFFERS: "the pod has another engine version than its leader",
}

# A rollout brings these about and ends them: pods are replaced one by one, and each must get Ready.
ROLLOUT = frozenset({LAUNCH_DIFFERS, LAYOUT_DIFFERS, VERSION_DIFFERS})

# Why bytes on a port were dropped without an answer.
BAD_FRAME = "bad-frame"
WRONG_GROUP = "wrong-group"
BAD_TOKEN = "bad-token"  # noqa: S105 - the name of a reason
TOO_MANY = "too-many"
TOO_SLOW = "too-slow"

DROPS = {
    BAD_FRAME: "not this protocol, or larger than it allows",
    WRONG_GROUP: "another group's rank (addresses of pods are used again)",
    BAD_TOKEN: "not signed with this group's token",
    TOO_MANY: "more connections than a group can need: the oldest is closed",
    TOO_SLOW: "no whole message within the deadline",
}

# Why a supervisor ends with an error.
GAVE_UP = "gave-up"
HOOK_FAILED = "hook-failed"
UNKILLABLE = "unkillable"
BAD_CONTRACT = "bad-contract"

FAILURES = {
    GAVE_UP: "maxRestarts restarts in a row without stableSeconds of serving between them",
    HOOK_FAILED: "a preLaunch hook failed",
    UNKILLABLE: "a process outlived SIGKILL: only the end of the container can free its devices",
    BAD_CONTRACT: "a LOCKSTEP_ variable is missing or wrong, or launch.sh cannot say the engine's facts",
}
