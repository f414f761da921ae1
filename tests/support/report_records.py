"""Real but short trainings for the tests of the report: two data sets, three networks, both levels of noise."""

from chebact.lab.store import records_under, write_record
from chebact.lab.synthetic.run import run_synthetic
from chebact.lab.synthetic.spec import SyntheticRequest

REQUEST = SyntheticRequest(
    models=("tanh", "relu", "cl-extrapolate"), datasets=("pendulum", "step"), seeds=2, recipes="released", epochs=2
)


def small_records(folder):
    """Train them, without the two cells that the page is to miss."""
    list(run_synthetic(REQUEST, folder, workers=1))
    return [record for record in records_under(folder) if wanted(record)]


def wanted(record):
    pair = (record.spec["model"], record.spec["dataset"])
    return pair not in (("tanh", "step"), ("relu", "pendulum"))


def write_all(records, folder):
    for record in records:
        spec = record.spec
        write_record(folder / "synthetic" / f"{spec['noise']:g}" / f"{spec['model']}-{spec['dataset']}.json", record)
