# Renames by Ruby's own parser: ruby ruby.rb FILE...
#
# Ripper tells a local variable from a method; its scopes are made here, and the
# result is held to Ruby's compiler: the same instructions but for the one name.
# Writes one JSON object a line, as oracle_test.go reads them.
require "json"
require "ripper"

MOST = (ENV["ORACLE_RENAMES"] || 12).to_i

class Scopes
  attr_reader :variables

  Variable = Struct.new(:name, :kind, :places)

  def initialize(sexp)
    @variables = []
    @scopes = []
    hard { walk(sexp) }
  end

  def hard
    outer, @scopes = @scopes, [{}]
    yield
    @scopes = outer
  end

  def soft
    @scopes.push({})
    yield
    @scopes.pop
  end

  def declare(ident, kind, here: false)
    name = ident[1]
    known = @scopes.last[name] if here
    known ||= find(name) unless here
    unless known
      known = @scopes.last[name] = Variable.new(name, kind, [])
      @variables << known
    end
    known.places << ident[2]
  end

  def find(name)
    @scopes.reverse_each { |s| return s[name] if s[name] }
    nil
  end

  def use(ident)
    find(ident[1])&.places&.<<(ident[2])
  end

  def parameters(node)
    return unless node.is_a?(Array)
    case node[0]
    when :params
      node[1]&.each { |p| p[0] == :mlhs ? mlhs(p) : declare(p, "parameter", here: true) }
      node[2]&.each { |p, value| declare(p, "parameter", here: true); walk(value) }
      declare(node[3][1], "parameter", here: true) if node[3].is_a?(Array) && node[3][1]
      node[4]&.each { |p| p[0] == :mlhs ? mlhs(p) : declare(p, "parameter", here: true) }
      node[5]&.each do |label, value|
        # Callers name it: never renamed, but it hides others.
        @scopes.last[label[1].chomp(":")] = Variable.new(label[1], "keyword", [])
        walk(value) if value
      end
      if node[6].is_a?(Array) && node[6][1]
        node[6][0] == :kwrest_param ? declare(node[6][1], "parameter", here: true) : walk(node[6])
      end
      declare(node[7][1], "parameter", here: true) if node[7].is_a?(Array) && node[7][1]
    when :paren
      parameters(node[1])
    when :block_var
      parameters(node[1])
      (node[2] || []).each { |p| declare(p, "parameter", here: true) }
    end
  end

  def mlhs(node)
    return unless node.is_a?(Array)
    if node[0] == :@ident
      declare(node, "parameter", here: true)
    else
      node.each { |child| mlhs(child) }
    end
  end

  def walk(node)
    return unless node.is_a?(Array)
    case node[0]
    when :def
      hard { parameters(node[2]); walk(node[3]) }
    when :defs
      walk(node[1])
      hard { parameters(node[4]); walk(node[5]) }
    when :class
      walk(node[2])
      hard { walk(node[3]) }
    when :module
      hard { walk(node[2]) }
    when :sclass
      walk(node[1])
      hard { walk(node[2]) }
    when :brace_block, :do_block
      soft { parameters(node[1]); walk(node[2]) }
    when :lambda
      soft { parameters(node[1]); walk(node[2]) }
    when :var_field
      node[1].is_a?(Array) && node[1][0] == :@ident ? declare(node[1], "local") : walk(node[1])
    when :var_ref
      node[1].is_a?(Array) && node[1][0] == :@ident ? use(node[1]) : walk(node[1])
    when :assign
      # The name is seen in its own value.
      walk(node[1])
      walk(node[2])
    when :while_mod, :until_mod, :if_mod, :unless_mod, :rescue_mod
      # The text before the word is read first.
      node[0] == :rescue_mod ? node[1..].each { |n| walk(n) } : (walk(node[2]); walk(node[1]))
    when :mlhs
      node[1..].each { |n| target(n) }
    else
      node.each { |child| walk(child) }
    end
  end

  def target(node)
    return unless node.is_a?(Array)
    if node[0] == :@ident
      declare(node, "local")
    elsif node[0].is_a?(Symbol) && ![:mlhs, :mlhs_paren, :mlhs_add_star].include?(node[0])
      walk(node)
    else
      node.each { |child| target(child) }
    end
  end
end

# shape is what Ruby compiles, with the new name written as the old.
def shape(text, old, fresh)
  map = lambda do |x|
    case x
    when Array then x.map(&map)
    when Hash then x.reject { |k, _| %i[code_location node_id node_ids].include?(k) }.map { |k, v| [map.(k), map.(v)] }
    when Symbol then x == fresh.to_sym ? old.to_sym : x
    else x
    end
  end
  map.(RubyVM::InstructionSequence.compile(text, "file", "file").to_a)
end

$VERBOSE = nil
ARGV.each do |path|
  text = File.binread(path)
  next unless text.ascii_only?
  text.force_encoding("UTF-8")
  sexp = Ripper.sexp(text) or next
  starts = [0]
  text.each_line { |line| starts << starts.last + line.size }
  chance = Random.new(File.basename(path).sum)
  made = 0
  Scopes.new(sexp).variables.shuffle(random: chance).each do |v|
    break if made == MOST
    fresh = v.name + "_renamed"
    next if v.name.start_with?("_") || text.include?(fresh)
    edits = v.places.uniq.sort.map { |line, column| s = starts[line - 1] + column; { start: s, end: s + v.name.size, text: fresh } }
    next unless edits.all? { |e| text[e[:start]...e[:end]] == v.name }
    after, at = +"", 0
    edits.each { |e| after << text[at...e[:start]] << fresh; at = e[:end] }
    after << text[at..]
    begin
      next if shape(text, v.name, v.name) != shape(after, v.name, fresh)
    rescue SyntaxError
      next
    end
    made += 1
    puts JSON.generate(path: path, name: v.name, fresh: fresh, kind: v.kind, edits: edits)
  end
end
