"""Facts of a PTX file that determine the launches of its kernels: parameters, block size, and the sizes of tiles that its address arithmetic contains.

The facts are found by patterns in the text, which fit what nvcc and Triton write. A pattern that is absent raises `Unknown`.
"""

import pathlib
import re


class Unknown(Exception):
    """The text contains no pattern that determines a fact."""


class Kernel:
    """An entry function: its name, the types of its parameters, and its text."""

    def __init__(self, name, parameters, directives, body, has_dynamic_shared):
        self.name = name
        self.parameters = parameters
        self.body = body
        self.has_dynamic_shared = has_dynamic_shared
        # Destination register or label -> the opcode and the operands of the instructions that write it, in the order of the text.
        self.definitions = {}
        self.instructions = []
        for statement in re.sub(r"//[^\n]*", "", body).split(";"):
            match = re.search(r"(?:^|\n)\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+(%\w+)\s*,\s*([^\n{}]*)$", statement.rstrip())
            if match:
                opcode, destination, sources = match.groups()
                instruction = (opcode, destination, [source.strip() for source in sources.split(",")])
                self.instructions.append(instruction)
                self.definitions.setdefault(destination, []).append(instruction)
        sizes = re.search(r"\.(?:reqntid|maxntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", directives)
        self.block = [int(size) for size in sizes.groups(default="1")] if sizes else None

    @property
    def threads(self):
        if self.block is None:
            raise Unknown("the number of threads of a CTA")
        x, y, z = self.block
        return x * y * z

    def registers_of_parameter(self, index):
        """The registers into which a parameter is loaded."""
        source = re.compile(rf"\[\s*{re.escape(self.name)}_param_{index}\s*\]")
        return {
            destination
            for opcode, destination, sources in self.instructions
            if opcode.startswith("ld.param") and source.fullmatch(sources[0])
        }

    def constant(self, operand):
        """The value of an immediate, or of a register that only one instruction writes, with an immediate."""
        definitions = self.definitions.get(operand, [])
        if len(definitions) == 1 and definitions[0][0].startswith("mov."):
            operand = definitions[0][2][0]
        try:
            return int(operand, 0)
        except ValueError:
            raise Unknown(f"the value of {operand}") from None

    def tile_of_block_index(self, axis):
        """The number of elements per CTA along an axis of the grid: the power of two by which the index of the CTA is multiplied."""
        indices = {destination for _, destination, sources in self.instructions if sources == [f"%ctaid.{axis}"]}
        for opcode, _, sources in self.instructions:
            if opcode == "shl.b32" and sources[0] in indices:
                return 1 << int(sources[1])
        raise Unknown(f"the number of elements per CTA along {axis}")

    def tile_of_size(self, index):
        """The divisor of a parameter that is divided by a power of two and rounded up: `(size + 127) / 128`."""
        sizes = self.registers_of_parameter(index)
        for opcode, _, sources in self.instructions:
            if opcode == "add.s32" and sources[0] in sizes and re.fullmatch(r"\d+", sources[1]):
                tile = int(sources[1]) + 1
                if tile & (tile - 1) == 0:
                    return tile
        raise Unknown(f"the tile of parameter {index}")

    def divisor_before_product(self, index):
        """The power of two by which a value is divided before it is multiplied by a parameter: the rows per group."""
        strides = self.registers_of_parameter(index)
        for opcode, _, sources in self.instructions:
            if opcode != "mul.lo.s32" or not strides.intersection(sources):
                continue
            for factor in strides.symmetric_difference(sources):
                for opcode, _, divided in self.definitions.get(factor, []):
                    if opcode in ("shr.s32", "shr.u32"):
                        return 1 << int(divided[1])
        raise Unknown(f"the divisor before a product with parameter {index}")

    def most_columns(self):
        """The number of columns that masked stores of vectors to a row cover: each mask is for a vector of every thread."""
        stores = re.findall(r"@(%p\d+) st\.global\.v(\d)\.b32", self.body)
        if not stores:
            raise Unknown("the number of columns")
        return len({guard for guard, _ in stores}) * int(stores[0][1]) * self.threads

    def rows_of_block(self, index):
        """The number of rows per CTA, whose first row is the index of the CTA times a power of two, times a parameter."""
        strides = self.registers_of_parameter(index)
        products = {
            destination
            for opcode, destination, sources in self.instructions
            if opcode == "mul.lo.s32" and strides.intersection(sources)
        }
        for opcode, _, sources in self.instructions:
            if opcode == "shl.b32" and sources[0] in products:
                return 1 << int(sources[1])
        return 1

    def persistent_ctas(self):
        """The number of CTAs of a kernel whose CTAs process tile after tile: the step of the index of the tile."""
        indices = {destination for _, destination, sources in self.instructions if sources == ["%ctaid.x"]}
        for opcode, destination, sources in self.instructions:
            if opcode == "add.s32" and destination in indices and sources[0] == destination:
                return self.constant(sources[1])
        raise Unknown("the number of persistent CTAs")

    def scratch_per_cta(self, index):
        """The bytes of the scratch buffer in a parameter that belong to one CTA, of which there is a power of two or a product; 0 if it is not used."""
        addresses = self.registers_of_parameter(index)
        for opcode, _, sources in self.instructions:
            if opcode.startswith("mad.lo") and sources[2] in addresses:
                return self.constant(sources[1])
            if opcode == "add.s64" and addresses.intersection(sources):
                for offset in addresses.symmetric_difference(sources):
                    for opcode, _, shifted in self.definitions.get(offset, []):
                        if opcode == "shl.b64":
                            return 1 << int(shifted[1])
        if addresses:
            raise Unknown("the bytes of scratch memory per CTA")
        return 0

    def tensor_maps(self):
        """The tensor maps that the kernel makes: the parameter with the address -> constants of the fields, by name and number of the dimension."""
        maps = {}
        fields = None
        for line in self.body.split("\n"):
            match = re.search(r"tensormap\.replace\.tile\.(\w+)\.\S+ \[[^]]*\], (\S+?)(?:, (\S+?))?;", line)
            if not match:
                continue
            field, first, second = match.groups()
            if field == "global_address":
                fields = maps.setdefault(self.parameter_in(first), {})
            elif second is None:
                fields[field] = self.constant(first)
            else:
                try:
                    fields[field, int(first, 0)] = self.constant(second)
                except Unknown:
                    pass
        return maps

    def parameter_in(self, register):
        """The parameter that a register contains."""
        for index in range(len(self.parameters)):
            if register in self.registers_of_parameter(index):
                return index
        raise Unknown(f"the parameter in {register}")


def read_kernels(path):
    """The kernels of a file by name."""
    text = pathlib.Path(path).read_text()
    variables = re.findall(r"\.extern\s+\.shared\s[^;]*?([\w$]+)\[\]\s*;", text)
    kernels = {}
    for entry in re.finditer(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{;]*)\{", text):
        name, parameters, directives = entry.groups()
        depth, end = 1, entry.end()
        while depth:
            brace = re.compile(r"[{}]").search(text, end)
            depth += 1 if brace.group() == "{" else -1
            end = brace.end()
        types = re.findall(r"\.param\s+\.(\w+)", parameters)
        body = text[entry.end() : end]
        has_dynamic_shared = any(re.search(rf"\b{re.escape(variable)}\b", body) for variable in variables)
        kernels[name] = Kernel(name, types, directives, body, has_dynamic_shared)
    return kernels
