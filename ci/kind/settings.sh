# Names that the scripts of this folder share, what a machine may want different, and how they speak. Sourced.
# shellcheck shell=bash disable=SC2034
NAME=${KIND_CLUSTER_NAME:-lockstep}
IMAGE=localhost/lockstep/standin
VERSIONS=(v0.32.0 v0.33.0) # of vLLM: an upgrade needs a second tag, and it is the same image
GPU_NODES=lockstep/rack
export KUBECONFIG=${XDG_CACHE_HOME:-$HOME/.cache}/lockstep/kind/kubeconfig

KIND_CONFIG=${KIND_CONFIG:-$(dirname "${BASH_SOURCE[0]}")/cluster.yaml}
KIND_NODE_IMAGE=${KIND_NODE_IMAGE-}
KIND_BASE_IMAGE=${KIND_BASE_IMAGE:-python:3.12-slim-bookworm}
KIND_LOAD=${KIND_LOAD-} # images that nodes get from this machine's Docker instead of a registry
LWS_CHART=${LWS_CHART:-oci://registry.k8s.io/lws/charts/lws}
LWS_VERSION=${LWS_VERSION-0.10.0}
KUEUE_CHART=${KUEUE_CHART:-oci://registry.k8s.io/kueue/charts/kueue}
KUEUE_VERSION=${KUEUE_VERSION-0.18.6}
ARGOCD_MANIFEST=${ARGOCD_MANIFEST:-https://raw.githubusercontent.com/argoproj/argo-cd/v3.2.11/manifests/install.yaml}

say() { printf 'kind: %s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}

need() { command -v "$1" >/dev/null || die "there is no '$1' on PATH: $2"; }

need_kind() {
  local said
  need docker "https://docs.docker.com/engine/install/"
  need kind "https://kind.sigs.k8s.io/docs/user/quick-start/#installation"
  said=$(docker version --format '{{.Server.Version}}' 2>&1 >/dev/null) || die "Docker does not answer: ${said##*$'\n'}"
}

exists() { kind get clusters --quiet | grep -qx "$NAME"; }
