"""Writes the bill of materials of a tree: sbom.spdx.json, SPDX 2.3 (ISO/IEC 5962) as JSON.

The format is SPDX and not CycloneDX, because SPDX is the ISO standard and describes files by
checksum together with their packages. The same tree gives the same bytes. The time is that of the
commit, and the namespace depends on the content.
"""
import datetime
import hashlib
import json
import os
import re
import urllib.parse
import uuid

import package_check
import package_tree

NAME = "sbom.spdx.json"
# Names of licenses in Debian's copyright files, and their SPDX identifiers.
LICENSES = {"Apache-2.0": "Apache-2.0", "BSD-2-Clause": "BSD-2-Clause",
            "BSD-3-clause": "BSD-3-Clause", "Expat": "MIT", "ISC": "ISC", "MIT": "MIT",
            "Zlib": "Zlib"}


def license_names(text):
    """Returns the licenses in a Debian copyright file. A plain text file gives none."""
    if not re.search(r"^Format: ", text, re.M):
        return []
    return sorted(set(re.findall(r"^License: *(\S.*)$", text, re.M)))


def identifier(kind, name):
    return "SPDXRef-%s-%s" % (kind, re.sub("[^A-Za-z0-9.]", "-", name.replace("+", "p")))


def digest(kind, path):
    with open(path, "rb") as f:
        return hashlib.new(kind, f.read()).hexdigest()


def files_of(tree):
    """Returns {path from the top of the tree: SPDX file} of all programs and libraries."""
    found = {}
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            if package_check.is_elf(path):
                inside = os.path.relpath(path, tree)
                found[inside] = {
                    "SPDXID": identifier("File", inside), "fileName": "./" + inside,
                    "fileTypes": ["BINARY"], "licenseConcluded": "NOASSERTION",
                    "copyrightText": "NOASSERTION",
                    "checksums": [{"algorithm": kind.upper(), "checksumValue": digest(kind, path)}
                                  for kind in ("sha1", "sha256")]}
    return dict(sorted(found.items()))


def package(name, version, files, **more):
    """Returns an SPDX package with these files. Without files, its content is not described."""
    out = {"SPDXID": identifier("Package", name), "name": name, "versionInfo": version,
           "downloadLocation": "NOASSERTION", "filesAnalyzed": bool(files),
           "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
           "copyrightText": "NOASSERTION"}
    if files:
        sums = sorted(f["checksums"][0]["checksumValue"] for f in files)
        out["packageVerificationCode"] = {
            "packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()}
    out.update(more)
    return out


def purl(text):
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
             "referenceLocator": text}]


def debian_package(known, files):
    # A copyright file covers a whole source package. With several licenses, it does not specify in
    # a machine-readable form which of them apply to the library.
    names = license_names(package_tree.copyright_of(known.name))
    declared = LICENSES.get(names[0]) if len(names) == 1 else None
    text = "Licences in Debian's copyright file, which LICENSES contains: "
    return package(
        known.name, known.version, files, supplier="Organization: Debian",
        sourceInfo="Debian source package %s %s" % (known.source, known.source_version),
        licenseDeclared=declared or "NOASSERTION",
        licenseComments=text + ("; ".join(names) or "as text"),
        externalRefs=purl("pkg:deb/debian/%s@%s?arch=%s" % (
            urllib.parse.quote(known.name), urllib.parse.quote(known.version),
            known.architecture)))


def arrow_package(files):
    with open(os.path.join(package_tree.ROOT, "WORKSPACE"), encoding="utf-8") as f:
        wheel = re.search(r'arrow_wheel\(.*?sha256 = "(\w+)".*?version = "([\d.]+)"', f.read(),
                          re.S)
    return package(
        "apache-arrow", wheel.group(2), files, supplier="Organization: Apache Software Foundation",
        sourceInfo="The C++ libraries of the wheel pyarrow %s. LICENSES names the libraries that "
                   "are compiled in" % wheel.group(2), licenseDeclared="Apache-2.0",
        checksums=[{"algorithm": "SHA256", "checksumValue": wheel.group(1)}],
        externalRefs=purl("pkg:pypi/pyarrow@" + wheel.group(2)))


def relationship(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(tree, packages, version, seconds):
    """Returns the bill as a dict. For `packages`, see package_tree.shipped. `seconds` is the time
    since 1970."""
    files = files_of(tree)
    rest = dict(files)
    parts = []
    for known in package_tree.installed(packages).values():
        own = [rest.pop("lib/" + name) for name in packages[known.name] if name != "compiled in"]
        parts.append((debian_package(known, own), own))
    arrow = [rest.pop(name) for name in sorted(rest)
             if re.match(r"lib/lib(arrow|parquet)\.so", name)]
    parts.append((arrow_package(arrow), arrow))
    foreign = sorted(name for name in rest if name.startswith("lib/"))
    if foreign:
        raise package_tree.TreeError("%s does not belong to a package, so its version is unknown" %
                                     foreign[0])
    own = list(rest.values())
    espalier = package("espalier", version, own, supplier="Organization: Espalier")
    relations = [relationship("SPDXRef-DOCUMENT", "DESCRIBES", espalier["SPDXID"])]
    for part, contained in [(espalier, own)] + parts:
        relations += [relationship(part["SPDXID"], "CONTAINS", f["SPDXID"]) for f in contained]
        if part is not espalier:
            kind = "DYNAMIC_LINK" if contained else "STATIC_LINK"
            relations.append(relationship(espalier["SPDXID"], kind, part["SPDXID"]))
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    bill = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": "espalier-%s-linux-x86_64" % version,
            "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "creators": ["Tool: espalier-tools-package"]},
            "packages": [espalier] + [part for part, _ in parts],
            "files": list(files.values()), "relationships": relations}
    bill["documentNamespace"] = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(bill)).urn
    return bill


def put(tree, packages, version, seconds):
    package_tree.put_text(tree, NAME, json.dumps(document(tree, packages, version, seconds),
                                                 indent=1) + "\n")
