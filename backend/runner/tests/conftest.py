from collections.abc import Callable, Iterator
from typing import Any

import pytest
from harness import Runner


@pytest.fixture
def start() -> Iterator[Callable[..., Runner]]:
    """Starts runners of one's own; `resumed=False` leaves the first resume to the test."""
    runners: list[Runner] = []

    def make(resumed: bool = True, **options: Any) -> Runner:
        runner = Runner(**options)
        runners.append(runner)
        if resumed:
            runner.resume()
        return runner

    yield make
    for runner in runners:
        runner.close()


_shared: list[Runner] = []


@pytest.fixture
def machine() -> Iterator[Runner]:
    """A runner shared by the tests that must leave it usable. That it is, is checked after each."""
    if not _shared:
        _shared.append(Runner())
        _shared[0].resume()
    runner = _shared[0]
    try:
        yield runner
        outcome = runner.run("'still ' + 'here'")
        assert outcome.value == "'still here'"
        assert outcome.out == ""
    except BaseException:
        _shared.clear()
        runner.close()
        raise


@pytest.fixture(scope="session", autouse=True)
def _end_shared() -> Iterator[None]:
    yield
    while _shared:
        assert _shared.pop().close() == 0
