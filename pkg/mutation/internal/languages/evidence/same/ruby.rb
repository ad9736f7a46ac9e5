# Whether two programs are the same for Ruby's compiler: ruby ruby.rb BEFORE
# AFTER. The exit code is 0 if they are: the same instructions, in which local
# variables are numbers already.
$VERBOSE = nil

def shape(x)
  case x
  when Array
    if x[0] == "YARVInstructionSequence/SimpleDataFormat"
      # Magic, three versions, misc, label, path, path, line, kind, locals, parameters, handlers, instructions.
      own = x[10]
      return [x[5], x[9], own.size, shape(x[11]), shape(x[12]), x[13].reject { |i| i.is_a?(Integer) || i.to_s.start_with?("RUBY_EVENT") }.map { |i| shape(i) }]
    end
    x.map { |y| shape(y) }
  when Hash
    x.reject { |k, _| %i[code_location node_id node_ids].include?(k) }.map { |k, v| [k, shape(v)] }
  else x
  end
end

before, after = ARGV.map { |path| shape(RubyVM::InstructionSequence.compile(File.binread(path), "file", "file").to_a) }
exit(before == after ? 0 : 1)
