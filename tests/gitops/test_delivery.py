"""From a commit to a group that runs, from a change to a group that rolls, and back from drift: Git alone decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ci.gitops.argocd import messages

from tests.cluster.release import two_nodes
from tests.cluster.waiting import eventually
from tests.gitops.model import SLOW

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gitops.model import Model


def test_a_commit_becomes_a_running_group(model: Model) -> None:
    """The Application is Progressing while the group forms, and Healthy only with every pod Ready."""
    revision = model.commit(two_nodes(pod=SLOW))

    model.until("Progressing", revision=revision)
    forming = [each.message for each in model.tree("LeaderWorkerSet")]
    model.until("Healthy", revision=revision)

    assert ["0 of 1 groups are Ready"] == forming
    assert 2 == len(model.release.ready(2))


def test_a_change_of_values_rolls_each_group_once(model: Model, tmp_path: Path) -> None:
    """Two groups, four pods, each made once; and Argo CD waits for them."""
    model.until("Healthy", revision=model.commit(two_nodes(replicas=2)))
    before = model.release.uids()

    with model.release.recorded(tmp_path) as created:
        revision = model.commit(two_nodes(replicas=2, pod=SLOW, engine={"name": "vllm", "args": {"max-num-seqs": 64}}))
        model.until("Progressing", revision=revision)
        model.until("Healthy", revision=revision)
        model.release.replaced(before, 4)
        model.release.settled()

    assert sorted(before) == sorted(created)


def test_a_commit_beside_it_touches_nothing(model: Model) -> None:
    """A comment in the values changes no object, so no pod."""
    model.until("Healthy", revision=model.commit(two_nodes()))
    before = model.release.uids()

    path = f"{model.folder}/values.yaml"
    model.fleet.repository.write(path, "# why\n" + (model.fleet.repository.folder / path).read_text())
    model.until("Healthy", revision=model.fleet.push("Say why"))

    assert before == model.release.settled()


def test_a_wrong_layout_is_refused_and_the_running_model_stays(model: Model) -> None:
    """The Application shows the chart's own words; the commit that mends it is enough."""
    right = two_nodes(parallelism={"tensor": 8, "pipeline": 2})
    model.until("Healthy", revision=model.commit(right))
    before = model.release.uids()

    model.commit(two_nodes(parallelism={"tensor": 6, "pipeline": 2}))
    refusal = eventually("the refusal", lambda: [text for text in messages(model.look()) if "PAR" in text])
    after = model.release.settled()
    model.until("Healthy", revision=model.commit(right))

    assert "tensor 6" in refusal[0]
    assert before == after == model.release.uids()


def test_drift_is_mended(model: Model) -> None:
    """Somebody scales by hand, and somebody deletes a Service: both are as Git says again."""
    model.until("Healthy", revision=model.commit(two_nodes()))
    before = model.release.uids()

    model.cluster.kubectl(f"scale leaderworkerset {model.name} --replicas=2", namespace=model.release.namespace)
    model.cluster.kubectl(f"delete service {model.name}-api", namespace=model.release.namespace)

    def mended() -> bool:
        services = [service["metadata"]["name"] for service in model.release.get("services")]
        return f"{model.name}-api" in services and scale(model) == 1

    eventually("Git's state", mended)
    model.until("Healthy")
    eventually("the second group to go", lambda: len(model.release.pods()) == 2)

    assert before == model.release.settled()


def test_replicas_of_an_autoscaler_are_left_alone(model: Model) -> None:
    """What an HPA writes through the scale subresource is its own; the next commit keeps it."""
    model.until("Healthy", revision=model.commit(two_nodes()))
    # A sync that has begun does not see what changes meanwhile, and a new Application is synced twice.
    eventually("the ApplicationSet", lambda: model.fleet.argocd.step(model.application) == "Healthy")

    scale_as_autoscaler(model, 2)
    model.release.ready(4)
    revision = model.commit(two_nodes(pod={"annotations": {"example.com/note": "2"}}))
    model.until("Healthy", revision=revision)
    model.release.ready(4)

    assert 2 == scale(model)


def scale(model: Model) -> int:
    """Read how many groups the LeaderWorkerSet asks for."""
    return int(model.release.one("leaderworkersets", model.name)["spec"]["replicas"])


def scale_as_autoscaler(model: Model, groups: int) -> None:
    """Set the replicas as kube-controller-manager does for a HorizontalPodAutoscaler."""
    path = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{model.release.namespace}/leaderworkersets/{model.name}/scale"
    with model.fleet.argocd.hub.api() as api:
        api.merge(f"{path}?fieldManager=kube-controller-manager", {"spec": {"replicas": groups}})


def test_a_removed_folder_leaves_the_model_running(model: Model) -> None:
    """Its Application goes; the pods stay, until somebody takes them away on purpose."""
    model.until("Healthy", revision=model.commit(two_nodes()))
    before = model.release.uids()

    model.fleet.repository.remove(model.folder)
    model.fleet.push("Remove by mistake")
    eventually("the Application to go", lambda: not model.look())

    assert before == model.release.settled()


def test_a_folder_that_said_delete_takes_its_model_with_it(model: Model) -> None:
    """``onRemoval: delete`` is committed first; then the removal prunes everything that the release made."""
    model.config["onRemoval"] = "delete"
    model.until("Healthy", revision=model.commit(two_nodes()))

    model.fleet.repository.remove(model.folder)
    model.fleet.push("Remove on purpose")
    eventually("the Application to go", lambda: not model.look())
    eventually("the pods to go", lambda: not model.release.pods())

    assert [] == [item["metadata"]["name"] for item in model.release.get("services")]
