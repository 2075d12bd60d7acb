/**
 * The syntax of PTX, as ptx-parse accepts it. The lists of words come from the tables of the instruction set (words.json, written by
 * `cargo xtask codegen`); instructions and modifiers are any words, so that a later version of PTX is parsed, too.
 */
/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

const words = require("./words.json");

/** One or more of a rule, with commas between them. */
const list = (rule) => seq(rule, repeat(seq(",", rule)));

const PREC = ["?:", "||", "&&", "|", "^", "&", "==", "<", "<<", "+", "*"];
const BINARY = [
  ["||", "||"],
  ["&&", "&&"],
  ["|", "|"],
  ["^", "^"],
  ["&", "&"],
  ["==", choice("==", "!=")],
  ["<", choice("<", "<=", ">", ">=")],
  ["<<", choice("<<", ">>")],
  ["+", choice("+", "-")],
  ["*", choice("*", "/", "%")],
];

module.exports = grammar({
  name: "ptx",

  word: ($) => $.identifier,

  extras: ($) => [/[ \t\r\n\f\u001a]/, $.comment, $.line_marker],

  supertypes: ($) => [$._item, $._statement, $._operand, $._constant],

  rules: {
    source_file: ($) => seq(optional("\ufeff"), repeat($._item)),

    _item: ($) => choice($.version, $.target, $.address_size, $.function, $.section, $.source_section, $.file, $._common),

    // Allowed in modules and in functions.
    _common: ($) => choice($.declaration, $.pragma, $.alias),

    // --- header ---

    version: ($) => seq(".version", field("number", $.float)),
    target: ($) => seq(".target", list(field("target", $.identifier))),
    address_size: ($) => seq(".address_size", $.integer),

    // --- functions ---

    // A declaration of a function may lack its semicolon.
    function: ($) =>
      prec.right(
        seq(
          optional($._prefix),
          choice(".entry", seq(".func", repeat($.attribute), optional(field("results", $.parameters)))),
          field("name", $.identifier),
          optional(field("parameters", $.parameters)),
          repeat(choice($.function_directive, $.pragma)),
          optional(choice(field("body", $.block), ";")),
        ),
      ),

    _prefix: ($) => repeat1(choice($.linkage, $.attribute)),
    linkage: () => choice(...words.linkage),
    attribute: ($) => seq(".attribute", "(", list(seq(field("name", $._word), optional(seq("(", list($._count), ")")))), ")"),
    function_directive: ($) =>
      prec.right(seq(field("name", alias(choice(...words.function), $.directive)), optional(list(choice($._count, $.string))))),

    parameters: ($) => seq("(", optional(list($.parameter)), ")"),
    parameter: ($) =>
      seq(
        repeat(choice($.space, $.align, $.vector_length)),
        field("type", $.type),
        repeat(choice($.align, $.pointer)),
        field("name", choice($.identifier, $.discard)),
        repeat($.dimension),
      ),
    pointer: ($) => prec.right(seq(".ptr", optional(choice($.space, $.type)), optional($.align))),

    block: ($) => seq("{", repeat($._statement), "}"),

    // --- declarations ---

    declaration: ($) =>
      seq(
        optional($._prefix),
        optional(seq(choice($.space, $.align, $.vector_length), repeat(choice($.space, $.align, $.vector_length, $.attribute)))),
        field("type", $.type),
        optional(list($.declarator)),
        ";",
      ),
    space: ($) => seq(choice(...words.spaces), optional($.dimension)),
    align: ($) => seq(".align", $._count),
    vector_length: () => choice(...words.vectors),
    type: () => token(choice(...words.types)),
    declarator: ($) =>
      seq(
        field("name", $.identifier),
        optional($.range),
        repeat($.dimension),
        optional(seq("=", field("value", $._initial_value))),
      ),
    range: ($) => seq("<", $._count, ">"),
    dimension: ($) => seq("[", optional($._count), "]"),
    _initial_value: ($) => choice($.initializer, $._constant, $.symbol_value, $.masked, $.field_value),
    initializer: ($) => seq("{", optional(list($._initial_value)), "}"),
    symbol_value: ($) => seq(choice($.identifier, $.generic), optional(seq("+", $._constant))),
    generic: ($) => seq($.identifier, "(", $.identifier, ")"),
    masked: ($) => seq($.integer, "(", choice($.symbol_value, $._constant), ")"),
    field_value: ($) => seq(field("field", $.identifier), "=", choice($.identifier, $._constant)),

    // --- statements ---

    _statement: ($) =>
      choice($.instruction, $.call, $.label, $.block, $.prototype, $.table, $.location, $.intermediate_location, $.function, $._common),

    label: ($) => seq(field("name", choice($.identifier, alias($._list_opcode, $.identifier))), ":"),

    guard: ($) => seq("@", optional("!"), $.identifier),

    instruction: ($) =>
      seq(
        optional($.guard),
        field("opcode", alias($.identifier, $.opcode)),
        repeat(alias($._word, $.modifier)),
        optional(seq(choice($._operand, $.pair), repeat(seq(",", $._operand)))),
        ";",
      ),

    // Only these instructions take lists in parentheses, which are constants elsewhere.
    call: ($) =>
      seq(
        optional($.guard),
        field("opcode", alias($._list_opcode, $.opcode)),
        repeat(alias($._word, $.modifier)),
        optional(list(choice($.list, $.identifier))),
        ";",
      ),
    _list_opcode: () => token(choice(...words.lists)),
    list: ($) => seq("(", optional(list($._element)), ")"),

    prototype: ($) =>
      seq(
        ".callprototype",
        optional(field("results", $.parameters)),
        $.discard,
        optional(field("parameters", $.parameters)),
        repeat($.function_directive),
        ";",
      ),
    table: ($) => seq(choice(".branchtargets", ".calltargets"), list(seq($.identifier, optional($.range))), ";"),
    pragma: ($) => seq(".pragma", list($.string), ";"),
    alias: ($) => seq(".alias", field("name", $.identifier), ",", field("function", $.identifier), ";"),

    location: ($) =>
      prec.right(
        seq(
          ".loc",
          field("file", $._count),
          field("line", $._count),
          field("column", $._count),
          optional(
            seq(
              ",",
              "function_name",
              field("function", $._debug_name),
              ",",
              "inlined_at",
              field("file", $._count),
              field("line", $._count),
              field("column", $._count),
            ),
          ),
        ),
      ),
    intermediate_location: ($) => seq(".loc_intermediate", $._count, $._count, $._count),
    file: ($) => prec.right(seq(".file", $._count, $.string, optional(seq(",", $._count, optional(seq(",", $._count)))))),

    // --- operands ---

    _operand: ($) => choice($._element, $.vector, $.address),
    _element: ($) => choice($.identifier, $.component, $.negated, $.offset, $.index, $._constant, $.discard),
    component: ($) => seq($.identifier, field("component", alias($._word, $.selector))),
    negated: ($) => seq(choice("-", "!"), choice($.identifier, $.component)),
    offset: ($) => prec.right(seq(field("base", choice($.identifier, $.component)), "+", field("offset", $._constant))),
    index: ($) => seq(field("base", choice($.identifier, $.component)), "[", field("index", $._part), "]"),
    pair: ($) => seq(choice($.identifier, $.discard, $.vector), "|", choice($.identifier, $.discard)),
    vector: ($) => seq("{", list($._element), "}"),
    address: ($) => seq("[", list($._part), "]", optional(alias($._word, $.modifier))),
    _part: ($) => choice($.identifier, $.offset, $.vector, $._constant),
    discard: () => "_",

    // --- constants ---

    _constant: ($) => choice($.integer, $.float, $.warp_size, $.parenthesized, $.cast, $.unary, $.binary, $.choice),
    _count: ($) => choice($.integer, $.warp_size),
    warp_size: () => "WARP_SZ",
    parenthesized: ($) => seq("(", $._constant, ")"),
    cast: ($) => prec(12, seq("(", field("type", $.type), ")", $._constant)),
    unary: ($) => prec(12, seq(choice("+", "-", "~", "!"), $._constant)),
    binary: ($) =>
      choice(
        ...BINARY.map(([level, operator]) =>
          prec.left(PREC.indexOf(level), seq(field("left", $._constant), field("operator", operator), field("right", $._constant))),
        ),
      ),
    choice: ($) => prec.right(0, seq($._constant, "?", $._constant, ":", $._constant)),

    // --- debug information ---

    section: ($) => seq(".section", field("name", alias($._word, $.section_name)), "{", repeat(choice($.label, $.data)), "}"),
    data: ($) => prec.right(seq(field("type", alias($._word, $.type)), choice(list(seq(optional("-"), $._count)), $._debug_name))),
    _debug_name: ($) =>
      prec.right(
        seq(choice($.identifier, alias($._word, $.section_name)), optional(choice(seq("+", $._count), seq("-", $.identifier)))),
      ),

    source_section: ($) => seq(".nv_intermediate_source_section", "{", repeat($.code_block), "}"),
    code_block: ($) =>
      seq(".code_block", "{", ".ir_name", ":", $.string, ".sourceFileName", ":", $._count, ".source_begin", $.source, ".source_end", "}"),
    source: ($) => repeat1($._line),
    _line: () => token(prec(-2, /[^\n]*[^ \t\r\n][^\n]*/)),

    // --- tokens ---

    // A letter, or one of `_ $ %` with more after it.
    identifier: () => /[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+/,
    // The last part may be a ratio: `.sp::2:4`.
    _word: () => /\.[A-Za-z0-9_$]+(::[A-Za-z0-9_$]+)*(::[0-9]+:[0-9]+)?/,
    integer: () => token(choice(/0[xX][0-9A-Fa-f]+U?/, /0[bB][01]+U?/, /[0-9]+U?/)),
    float: () =>
      token(
        choice(/0[fF][0-9A-Fa-f]{8}/, /0[dD][0-9A-Fa-f]{16}/, /[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?/, /[0-9]+[eE][+-]?[0-9]+/, /\.[0-9]+([eE][+-]?[0-9]+)?/),
      ),
    string: () => /"[^"]*"/,
    comment: () => token(choice(/\/\/[^\n]*/, /\/\*([^*]|\*+[^*\/])*\*+\//)),
    line_marker: () => token(/#[ \t]*(line[ \t]*)?[0-9]+[ \t]*"[^"\n]*"[ \t0-9\r]*/),
  },
});
