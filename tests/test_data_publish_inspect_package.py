"""What makes the tasks for Inspect a package; the tasks themselves are in `test_data_publish_inspect.py`."""

import re

from data.publish.inspect_package import package_name


def test_datasets_of_other_names_have_packages_of_other_names() -> None:
    assert package_name("My-data 2") == "touchstone_my_data_2"
    names = ["数据", "资料", "数据-a", "资料-a", "a", "café", "cafe", "---"]
    packages = [package_name(name) for name in names]
    assert len({*packages}) == len(names)
    assert all(re.fullmatch(r"touchstone(_[a-z0-9]+)+", package) for package in packages)
    assert packages[3].startswith("touchstone_a_")
