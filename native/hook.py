"""The hook of hatchling: whoever builds a wheel, also that of an editable installation, compiles the library first."""

from __future__ import annotations

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeBuildHook(BuildHookInterface[Any]):
    """Compiles, or says why it could not: then the wheel works without the library."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the libraries; a wheel that has them is for this system and for any Python."""
        if self.target_name != "wheel":
            return
        reason = runpy.run_path(str(Path(__file__).with_name("build.py")))["build"]()
        if reason is not None:
            self.app.display_warning(f"chebact will work without its compiled library, slower: {reason}.")
            return
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data.update(pure_python=False, tag=f"py3-none-{system}")
