# Names that the scripts of this folder share, and what a machine may want different. Sourced.
# shellcheck shell=bash disable=SC2034
NAME=lockstep
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
