; Functions, methods by receiver, types with their methods, constants and variables of a package.

(function_declaration
  name: (identifier) @name
  body: (_)? @body) @definition.function

(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (type_identifier) @parent
        (generic_type type: (type_identifier) @parent)
        (pointer_type (type_identifier) @parent)
        (pointer_type (generic_type type: (type_identifier) @parent))
      ]))
  name: (field_identifier) @name
  body: (_)? @body) @definition.method

(method_declaration
  name: (field_identifier) @name
  body: (_)? @body) @definition.method

(type_declaration
  (type_spec
    name: (type_identifier) @name
    type: (struct_type (field_declaration_list) @body)) @definition.class) @group

(type_declaration
  (type_spec
    name: (type_identifier) @name
    type: (interface_type "{" @body) @members) @definition.type) @group

(type_declaration
  [(type_spec name: (type_identifier) @name)
   (type_alias name: (type_identifier) @name)] @definition.type) @group

(method_elem name: (field_identifier) @name) @definition.method

(const_declaration
  (const_spec name: (identifier) @name) @definition.constant
  (#not-eq? @name "_")) @group

(var_declaration
  (var_spec name: (identifier) @name) @definition.constant
  (#not-eq? @name "_")) @group

(var_declaration
  (var_spec_list . (var_spec name: (identifier) @name) .)
  (#not-eq? @name "_")) @definition.constant

(var_declaration
  (var_spec_list (var_spec name: (identifier) @name) @definition.constant)
  (#not-eq? @name "_"))

(ERROR) @inside
