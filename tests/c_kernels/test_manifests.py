"""What the manifests of c_kernels/amalgamation say, for Arduino, PlatformIO, Zephyr, ESP-IDF and CMSIS-Pack.

The checkers of PlatformIO, Zephyr (kconfiglib) and ESP-IDF (esp-idf-kconfig, idf-component-manager) run where they are
installed. test_build_systems.py builds with the manifests.
"""

import json
import re
import tarfile
import tomllib
from xml.etree import ElementTree as ET

import pytest

import mapdpm
from compiling import FOLDER, SKETCH, kconfig_options
from repository import ROOT

CATEGORIES = (  # of Arduino
    "Communication|Data Processing|Data Storage|Device Control|Display|Other|Sensors|Signal Input/Output|Timing"
)


def properties():
    lines = (FOLDER / "library.properties").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"\w+=\S.*", line) for line in lines), lines
    return dict(line.split("=", 1) for line in lines)


def platformio():
    return json.loads((FOLDER / "library.json").read_text(encoding="utf-8"))


def pack():
    return ET.parse(FOLDER / "mapdpm.mapdpm.pdsc").getroot()  # noqa: S314  it is ours


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


# ---- what they say ---------------------------------------------------------------------------------------------------


def test_versions_agree():
    cmake = re.search(r"^project\(mapdpm VERSION (\S+)", (FOLDER / "CMakeLists.txt").read_text(), re.MULTILINE)
    header = re.search(r'^#define MAPDPM_VERSION "(\S+)"$', (FOLDER / "src" / "mapdpm.h").read_text(), re.MULTILINE)
    versions = [cmake[1], header[1], properties()["version"], platformio()["version"]]
    versions += re.findall(r'^version: "(\S+)"$', (FOLDER / "idf_component.yml").read_text(), re.MULTILINE)
    versions += [element.get("Cversion") for element in pack().iter("component")]
    versions.append(pack().find("releases/release").get("version"))  # the first is the newest
    assert versions == [mapdpm.__version__] * 8


def test_names_and_licence_are_those_of_the_python_package():
    package, arduino, pio = project(), properties(), platformio()
    (author,) = [author["name"] for author in package["authors"]]
    assert {arduino["name"], pio["name"]} == {package["name"]}
    assert {arduino["author"], arduino["maintainer"], pio["authors"][0]["name"]} == {author}
    assert pio["license"] == package["license"]
    assert arduino["url"] in package.get("urls", {"": arduino["url"]}).values()


def test_library_properties_has_the_fields_of_the_specification():
    fields = properties()
    required = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
    assert set(fields) == required | {"includes"}
    assert re.fullmatch(r"[A-Za-z0-9][\w .-]{0,62}", fields["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", fields["version"])
    assert re.fullmatch(CATEGORIES, fields["category"])
    assert re.fullmatch(r"https://\S+", fields["url"])
    assert fields["architectures"] == "*"
    assert (FOLDER / "src" / fields["includes"]).is_file()


def test_library_json_names_files_that_there_are():
    fields = platformio()
    assert all((FOLDER / "src" / header).is_file() for header in fields["headers"])
    assert len(fields["description"]) <= 255
    files = [FOLDER / example["base"] / file for example in fields["examples"] for file in example["files"]]
    assert all(file.is_file() for file in files)
    assert files[0] == SKETCH
    assert SKETCH.parent.name == SKETCH.stem  # as Arduino wants it
    folders = {folder.name for folder in (FOLDER / "examples").iterdir()}
    assert {example["name"] for example in fields["examples"]} == folders


def test_module_yml_names_files_that_there_are():
    yaml = pytest.importorskip("yaml")
    module = yaml.safe_load((FOLDER / "zephyr" / "module.yml").read_text())
    assert module["name"] == "mapdpm"
    assert (FOLDER / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (FOLDER / module["build"]["kconfig"]).is_file()


def test_kconfig_has_an_option_for_each_switch_of_the_library():
    # Switches for compilers of desktops, and what the sources give each other, are no options.
    internal = {"INTERNAL", "SWITCHES_H", "NO_CLONES", "NO_VECTORS"}
    header = (ROOT / "c_kernels" / "mapdpm_switches.h").read_text()
    library = (FOLDER / "src" / "mapdpm.c").read_text()
    switches = set(re.findall(r"^#ifn?def MAPDPM_(\w+)$", header, re.MULTILINE)) | {
        "NO_ERROR_NAMES",
        "REAL",
    }
    options = kconfig_options()
    assert len(options) == len(set(options))
    policies = re.findall(r"\bMAPDPM_FULL_(\w+) =", (FOLDER / "src" / "mapdpm.h").read_text())
    chosen = {f"WHEN_FULL_{policy}" for policy in ["ANY", *policies]}
    assert {option for option in options if option.startswith("WHEN_FULL_")} == chosen
    assert set(options) - chosen == switches - internal - {"WHEN_FULL", "REAL"} | {"REAL_FLOAT"}
    assert "#ifdef MAPDPM_NO_ERROR_NAMES" in library or "#ifndef MAPDPM_NO_ERROR_NAMES" in library


def test_each_manifest_comes_with_the_licence():
    """The registries of ESP-IDF, PlatformIO and CMSIS-Pack take the folder alone."""
    assert (FOLDER / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_idf_component_names_folders_that_there_are():
    yaml = pytest.importorskip("yaml")
    component = yaml.safe_load((FOLDER / "idf_component.yml").read_text())
    assert set(component) == {"version", "description", "url", "license", "tags", "dependencies", "examples"}
    assert component["license"] == platformio()["license"]
    assert component["url"] == properties()["url"]
    assert all(re.fullmatch(r"[a-z0-9_-]{3,32}", tag) for tag in component["tags"])
    assert all((FOLDER / example["path"] / "CMakeLists.txt").is_file() for example in component["examples"])


def test_pack_has_what_its_schema_requires():
    """The rules of PACK.xsd 1.7.32 for the elements that are used: names and order, required parts, lengths, words."""
    root = pack()
    parts = {"vendor", "name", "description", "url", "license", "requirements"}
    parts |= {"releases", "keywords", "taxonomy", "components"}
    assert root.tag == "package"
    assert re.fullmatch(r"\d+\.\d+\.\d+", root.get("schemaVersion"))
    assert sorted(element.tag for element in root) == sorted(parts)  # in any order, each at most once
    vendor, name = root.findtext("vendor"), root.findtext("name")
    assert re.fullmatch(r"[-_A-Za-z0-9]+", vendor)
    assert re.fullmatch(r"[-_A-Za-z0-9]+", name)
    assert (FOLDER / f"{vendor}.{name}.pdsc").is_file()  # the name that tools look for
    assert (FOLDER / root.findtext("license")).is_file()
    assert root.findtext("url").startswith("https://")
    assert all(len(element.text) <= 256 for element in root.iter("description"))
    classes = {element.get("Cclass") for element in root.iter("component")}
    assert classes == {element.get("Cclass") for element in root.findall("taxonomy/description")}


def test_pack_has_a_component_for_each_real_type():
    components = {element.get("Cvariant"): element for element in pack().iter("component")}
    assert set(components) == {"float", "double"}
    assert [real for real, component in components.items() if component.get("isDefaultVariant") == "true"] == ["float"]
    for real, component in components.items():
        allowed = {"description", "RTE_Components_h", "Pre_Include_Global_h", "files"}
        assert {element.tag for element in component} == allowed
        assert f"#define MAPDPM_REAL {real}\n" in component.findtext("Pre_Include_Global_h")
        assert {"Cclass", "Cgroup", "Cversion"} < set(component.attrib)
        files = {element.get("name"): element.get("category") for element in component.iter("file")}
        assert files == {"src/mapdpm.h": "header", "src/mapdpm.hpp": "header", "src/mapdpm.c": "sourceC"}
        assert all((FOLDER / file).is_file() for file in files)


# ---- what the tools of the build systems say -------------------------------------------------------------------------


@pytest.mark.complete
def test_platformio_packs_the_folder(monkeypatch, tmp_path):
    packing = pytest.importorskip("platformio.package.pack", reason="pip install platformio")
    schema = pytest.importorskip("platformio.package.manifest.schema").ManifestSchema
    known = {"licenses": [{"licenseId": "BSD-3-Clause"}]}  # it would download the list
    monkeypatch.setattr(schema, "load_spdx_licenses", staticmethod(lambda: known))
    archive = packing.PackagePacker(str(FOLDER)).pack(str(tmp_path))
    with tarfile.open(archive) as packed:
        names = set(packed.getnames())
    assert {"library.json", "LICENSE", "src/mapdpm.c", "src/mapdpm.h", "src/mapdpm.hpp"} <= names


@pytest.mark.complete
def test_kconfiglib_reads_the_options_of_zephyr():
    kconfiglib = pytest.importorskip("kconfiglib", reason="pip install kconfiglib")
    read = kconfiglib.Kconfig(str(FOLDER / "zephyr" / "Kconfig"))
    assert read.warnings == []
    assert read.syms["MAPDPM_REAL_FLOAT"].str_value == "n"  # as long as MAPDPM is
    read.syms["MAPDPM"].set_value("y")
    on = {symbol.name for symbol in read.unique_defined_syms if symbol.str_value == "y"}
    assert on == {"MAPDPM", "MAPDPM_REAL_FLOAT", "MAPDPM_WHEN_FULL_ANY"}
    assert {symbol.name for symbol in read.unique_defined_syms} == {"MAPDPM"} | {
        f"MAPDPM_{o}" for o in kconfig_options()
    }


@pytest.mark.complete
@pytest.mark.parametrize("parser", ["1", "2"])
def test_esp_idf_reads_its_options(parser, monkeypatch, tmp_path):
    esp_kconfiglib = pytest.importorskip("esp_kconfiglib", reason="pip install esp-idf-kconfig")
    monkeypatch.setenv("KCONFIG_PARSER_VERSION", parser)
    (tmp_path / "Kconfig").write_text(f'mainmenu "all components"\n\nsource "{FOLDER / "Kconfig"}"\n')
    read = esp_kconfiglib.Kconfig(str(tmp_path / "Kconfig"))
    assert list(read.warnings) == []
    assert {symbol.name for symbol in read.unique_defined_syms} == {f"MAPDPM_{option}" for option in kconfig_options()}


@pytest.mark.complete
def test_component_manager_of_esp_idf_accepts_the_manifest():
    manager = pytest.importorskip("idf_component_tools.manager", reason="pip install idf-component-manager")
    assert str(manager.ManifestManager(str(FOLDER), "mapdpm").load().version) == mapdpm.__version__
