"""Hardware readings: devices that are there, and devices that are not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from driftline.train_side.probes import Ascend, Host, Nvidia
from driftline.train_side.probes.ascend import parsed

# As `npu-smi info` prints it; the layouts of three driver versions, serial data left out.
ONE_CHIP = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 25.2.0                   Version: 25.2.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B4               | OK            | 91.3        33                0    / 0             |
| 0                         | 0000:C1:00.0  | 37          0    / 0          3197 / 32768         |
+===========================+===============+====================================================+
| 1     910B4               | Warning       | 288.1       88                0    / 0             |
| 0                         | 0000:01:00.0  | 99          0    / 0          31970/ 32768         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 0       0                 | 12345         | python                   | 3051                    |
+===========================+===============+====================================================+
"""
TWO_CHIPS = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 25.3.rc1                 Version: 25.3.rc1                                             |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     Ascend910           | OK            | 163.6       30                0    / 0             |
| 0     0                   | 0000:9D:00.0  | 0           0    / 0          3180 / 65536         |
+------------------------------------------------------------------------------------------------+
| 0     Ascend910           | OK            | -           31                0    / 0             |
| 1     1                   | 0000:9F:00.0  | 12          0    / 0          2896 / 65536         |
+===========================+===============+====================================================+
"""
NO_HBM = """\
+--------------------------------------------------------------------------------------------+
| npu-smi 22.0.4                   Version: 22.0.4                                           |
+-------------------+-----------------+------------------------------------------------------+
| NPU     Name      | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device    | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===================+=================+======================================================+
| 8       310P3     | OK              | NA           45                0     / 0             |
| 0       0         | 0000:83:00.0    | 0            1781 / 21527                            |
+===================+=================+======================================================+
"""
MB = 1024**2


def test_a_table_of_one_chip_a_card() -> None:
    assert parsed(ONE_CHIP) == {
        "npu0/power_watts": 91.3,
        "npu0/temperature_celsius": 33.0,
        "npu0/util_percent": 37.0,
        "npu0/memory_bytes": 3197.0 * MB,
        "npu0/memory_percent": pytest.approx(9.756, abs=1e-3),
        "npu1/power_watts": 288.1,
        "npu1/temperature_celsius": 88.0,
        "npu1/util_percent": 99.0,
        "npu1/memory_bytes": 31970.0 * MB,
        "npu1/memory_percent": pytest.approx(97.565, abs=1e-3),
    }


def test_a_card_of_two_chips_has_one_power() -> None:
    found = parsed(TWO_CHIPS)
    assert found["npu1/temperature_celsius"] == 31.0
    assert found["npu1/util_percent"] == 12.0
    assert "npu1/power_watts" not in found


def test_a_chip_without_hbm() -> None:
    found = parsed(NO_HBM)
    assert found["npu0/memory_bytes"] == 1781.0 * MB
    assert found["npu0/temperature_celsius"] == 45.0
    assert "npu0/power_watts" not in found


@pytest.mark.parametrize("text", ["", "error: no device", "| a | b | c |\n| d | e | f |"])
def test_output_of_another_kind_gives_nothing(text: str) -> None:
    assert parsed(text) == {}


def test_a_missing_command_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fails() -> None:
        calls.append(1)

    gauge = Ascend(run=fails)
    assert [gauge.read() for _ in range(10)] == [{}] * 10
    assert len(calls) == 3
    monkeypatch.setenv("PATH", "")
    assert Ascend().read() == {}


def test_nvidia_devices() -> None:
    def unsupported(device: str) -> None:
        raise RuntimeError("Not Supported")

    library = SimpleNamespace(
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: f"gpu{index}",
        nvmlDeviceGetUtilizationRates=unsupported,
        nvmlDeviceGetMemoryInfo=lambda device: SimpleNamespace(used=4 * MB, total=16 * MB),
        nvmlDeviceGetTemperature=lambda device, sensor: 61,
    )
    assert Nvidia(library=library).read() == {
        "gpu0/memory_bytes": 4.0 * MB,
        "gpu0/memory_percent": 25.0,
        "gpu0/temperature_celsius": 61.0,
    }


def test_no_driver_is_no_device() -> None:
    """This machine has the library, and no driver."""
    assert Nvidia().read() == {}


def test_the_host_is_read() -> None:
    gauge = Host()
    assert gauge.read() == {}
    found = gauge.read()
    assert found["process/memory_bytes"] > 10 * MB
    assert 0 <= found["host/cpu_percent"] <= 100
    assert 0 < found["host/memory_percent"] < 100
