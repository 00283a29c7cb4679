"""Names in the types of SDKs in Python, read from their source without running it.

Standard input: a list of {root, how, module, name, spelling?}; standard output: a list of lists of names, in the same order.
`how` is `members` (annotated members of a class, and of the classes that it inherits), `paths` (the same, through the classes of its
members), `kinds` (the words of member `type` of all classes of a union), or `arguments` (keywords of a function, as Class.function).
"""
import ast
import json
import os
import sys


class Package:
    def __init__(self, root):
        self.root = root
        self.trees = {}

    def tree(self, module):
        if module not in self.trees:
            path = os.path.join(self.root, *module.split("."))
            file = os.path.join(path, "__init__.py") if os.path.isdir(path) else path + ".py"
            with open(file, encoding="utf-8") as source:
                self.trees[module] = (ast.parse(source.read()), os.path.isdir(path))
        return self.trees[module]

    def find(self, module, name):
        """The module and node in which a name is defined, through imports; None for names of other packages."""
        tree, is_folder = self.tree(module)
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                return module, node
            if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", None) == name:
                return module, node.value
            if isinstance(node, ast.Assign) and any(getattr(target, "id", None) == name for target in node.targets):
                return module, node.value
            if isinstance(node, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in node.names):
                above = module.split(".")
                if node.level:
                    drop = node.level - (1 if is_folder else 0)
                    base = above[: len(above) - drop]
                    target = ".".join(base + (node.module.split(".") if node.module else []))
                else:
                    target = node.module
                real = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
                try:
                    return self.find(target, real)
                except (FileNotFoundError, IndexError):
                    return None
        return None


def names_in(node):
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and part.id != "PropertyInfo"]


def literals(node):
    words = []
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript) and getattr(part.value, "id", None) == "Literal":
            words += [word.value for word in ast.walk(part.slice) if isinstance(word, ast.Constant) and isinstance(word.value, str)]
    return words


def annotated(package, module, node):
    """Members of a class with the module in which each annotation is to be read."""
    own = {}
    for base in node.bases:
        for name in names_in(base):
            found = package.find(module, name)
            if found and isinstance(found[1], ast.ClassDef):
                own.update(annotated(package, *found))
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            own[part.target.id] = (module, part.annotation)
    return own


def classes(package, module, node, seen):
    if isinstance(node, ast.ClassDef):
        return [(module, node)]
    found = []
    for name in names_in(node):
        if (module, name) in seen:
            continue
        seen.add((module, name))
        target = package.find(module, name)
        if target:
            found += classes(package, *target, seen)
    return found


def camel(name):
    head, *rest = name.lstrip("_").split("_")
    return head + "".join(word.capitalize() for word in rest)


def paths(package, module, node, before, depth=0):
    found = []
    for name, (where, annotation) in annotated(package, module, node).items():
        found.append(before + name)
        if depth < 4:
            for inner in classes(package, where, annotation, set()):
                found += paths(package, *inner, before + name + ".", depth + 1)
    return found


def names_of(wanted):
    package = Package(wanted["root"])
    module, name, how = wanted["module"], wanted["name"], wanted["how"]
    if how == "arguments":
        owner, function = name.split(".")
        _, node = package.find(module, owner)
        method = next(part for part in node.body if getattr(part, "name", None) == function)
        return [arg.arg for arg in method.args.kwonlyargs if arg.arg not in ("extra_headers", "extra_body", "extra_query", "timeout")]
    module, node = package.find(module, name)
    if how == "kinds":
        return [word for where, one in classes(package, module, node, set()) if "type" in annotated(package, where, one)
                for word in literals(annotated(package, where, one)["type"][1])]
    if how == "words":
        return literals(node) or [part.value.value for part in getattr(node, "body", [])
                                  if isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant)]
    return paths(package, module, node, "", 0 if how == "paths" else 9)


spell = {"camel": camel}
wanted = json.load(sys.stdin)
json.dump([sorted({".".join(spell.get(one.get("spelling"), str)(part) for part in name.split(".")) for name in names_of(one)}) for one in wanted], sys.stdout)
