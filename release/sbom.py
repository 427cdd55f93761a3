"""The list of what is in the release (SBOM), in CycloneDX's JSON: requirements, licences, and each file in C."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import sys
import uuid
from pathlib import Path
from typing import Any

from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation import make_schemabased_validator
from packaging.requirements import Requirement

from release.builds import seconds
from release.contents import members

LICENCE = [{"license": {"id": "BSD-3-Clause"}}]  # of mapdpm, and of the recording in examples/data
OURS = ("mapdpm/c_kernels/", "mapdpm/backends/_c")
RECORDING = "mapdpm/example_data/smartwatch.csv"


def sha256(content: bytes) -> list[dict[str, str]]:
    """Return a check sum as CycloneDX writes it."""
    return [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}]


def described(version: str, sdist: Path, wheels: list[Path], requirements: list[str]) -> dict[str, Any]:
    """Return the document: the same for the same files, wherever and whenever it is written."""
    purl = f"pkg:pypi/mapdpm@{version}"
    files = [
        {
            "type": "file",
            "bom-ref": f"{wheel.name}#{name}",
            "name": name,
            "hashes": sha256(content),
            "licenses": LICENCE,
        }
        for wheel in wheels
        for name, content in sorted(members(wheel).items())
        if name.startswith(OURS) or name == RECORDING
    ]
    needed = [Requirement(requirement) for requirement in requirements]
    libraries = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{requirement.name}",
            "name": requirement.name,
            "purl": f"pkg:pypi/{requirement.name}",
            "scope": "required",
            "properties": [{"name": "mapdpm:versions", "value": str(requirement.specifier)}],
        }
        for requirement in needed
    ]
    sums = {path.name: sha256(path.read_bytes()) for path in (sdist, *wheels)}
    published = [{"type": "distribution", "url": name, "hashes": sums[name]} for name in sums]
    when = dt.datetime.fromtimestamp(int(seconds()), dt.UTC)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{purl} {sums}')}",
        "version": 1,
        "metadata": {
            "timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "library",
                "bom-ref": purl,
                "name": "mapdpm",
                "version": version,
                "purl": purl,
                "licenses": LICENCE,
                "externalReferences": published,
            },
        },
        "components": libraries + files,
        "dependencies": [
            {"ref": purl, "dependsOn": [library["bom-ref"] for library in libraries]},
            *({"ref": library["bom-ref"]} for library in libraries),
        ],
    }


def write(path: Path, document: dict[str, Any]) -> None:
    """Write the document, if it is valid."""
    text = json.dumps(document, indent=1) + "\n"
    problem = make_schemabased_validator(OutputFormat.JSON, SchemaVersion.V1_6).validate_str(text)
    if problem is not None:
        sys.exit(f"release check: {path.name} is no valid CycloneDX 1.6: {problem}")
    path.write_text(text, encoding="utf-8")
