; Functions, classes, methods, names bound at module level, and constants of classes.

(function_definition
  name: (identifier) @name
  parameters: (_) @last
  return_type: (_)? @last) @definition.function

(class_definition
  name: (identifier) @name @last
  superclasses: (_)? @last
  body: (_) @members) @definition.class

((expression_statement . (assignment left: (identifier) @name)) @definition.constant
  (#set! among others)
  (#set! once))

((expression_statement . (assignment left: (identifier) @name)) @definition.constant
  (#set! among members)
  (#match? @name "^[^a-z]*[A-Z][^a-z]*$")
  (#set! once))

(type_alias_statement
  left: (type [(identifier) @name (generic_type . (identifier) @name)])) @definition.type

(decorated_definition) @lines

[
  (block)
  (if_statement)
  (elif_clause)
  (else_clause)
  (try_statement)
  (except_clause)
  (finally_clause)
  (with_statement)
  (for_statement)
  (while_statement)
  (match_statement)
  (case_clause)
  (ERROR)
] @inside
