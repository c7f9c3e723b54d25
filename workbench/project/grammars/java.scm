; Types, methods, constructors and constants; annotations belong to the lines and not to the signature.

([
  (class_declaration (modifiers)? @modifiers name: (identifier) @name body: (_) @body @members)
  (record_declaration (modifiers)? @modifiers name: (identifier) @name body: (_) @body @members)
  (enum_declaration (modifiers)? @modifiers name: (identifier) @name body: (_) @body @members)
]) @definition.class

([
  (interface_declaration (modifiers)? @modifiers name: (identifier) @name body: (_) @body @members)
  (annotation_type_declaration (modifiers)? @modifiers name: (identifier) @name body: (_) @body @members)
] @definition.type
  (#set! members public))

[
  (method_declaration (modifiers)? @modifiers name: (identifier) @name body: (_)? @body)
  (constructor_declaration (modifiers)? @modifiers name: (identifier) @name body: (_) @body)
  (compact_constructor_declaration (modifiers)? @modifiers name: (identifier) @name body: (_) @body)
  (annotation_type_element_declaration (modifiers)? @modifiers name: (identifier) @name)
] @definition.method

((enum_constant name: (identifier) @name body: (_)? @body) @definition.constant
  (#set! exported))

(field_declaration
  (modifiers ["static" "final"] ["static" "final"]) @modifiers
  declarator: (variable_declarator name: (identifier) @name)) @definition.constant

(constant_declaration
  (modifiers)? @modifiers
  declarator: (variable_declarator name: (identifier) @name)) @definition.constant

[(enum_body_declarations) (class_body) (interface_body) (ERROR)] @inside
