import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.net.URI;
import java.nio.file.*;
import java.util.*;
import javax.lang.model.element.*;
import javax.tools.*;

/**
 * Whether two programs are the same for javac: java Same.java BEFORE AFTER. The
 * exit code is 0 if they are: the same tree without empty statements, in which
 * each name means the same local variable, parameter or private member, or
 * something else of the same kind that is spelled alike.
 */
class Same {
    public static void main(String[] args) throws Exception {
        System.exit(shape(args[0]).equals(shape(args[1])) ? 0 : 1);
    }

    static List<String> shape(String path) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        String text = Files.readString(Path.of(path)).replaceFirst("(?m)^package ja", "package xa").replaceFirst("(?m)^package com\\.sun", "package com.xun");
        var file = new SimpleJavaFileObject(URI.create("string:///X.java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignore) {
                return text;
            }

            @Override
            public boolean isNameCompatible(String simpleName, Kind kind) {
                return true;
            }
        };
        boolean[] faulty = {false};
        JavacTask task = (JavacTask) compiler.getTask(null, null, d -> faulty[0] |= d.getCode().startsWith("compiler.err.expected") || d.getCode().contains("illegal.start"),
            List.of("-proc:none", "-XDshould-stop.ifError=FLOW"), null, List.of(file));
        CompilationUnitTree unit = task.parse().iterator().next();
        if (faulty[0]) {
            System.exit(2);
        }
        task.analyze();
        Printer printer = new Printer(Trees.instance(task));
        printer.scan(unit, null);
        return printer.out;
    }

    static class Printer extends TreePathScanner<Void, Void> {
        final List<String> out = new ArrayList<>();
        final Trees trees;
        final Map<Element, Integer> numbers = new HashMap<>();

        Printer(Trees trees) {
            this.trees = trees;
        }

        String name(CharSequence spelled) {
            Element e = trees.getElement(getCurrentPath());
            if (e == null) {
                return spelled.toString();
            }
            switch (e.getKind()) {
                case PARAMETER, LOCAL_VARIABLE, EXCEPTION_PARAMETER, RESOURCE_VARIABLE, BINDING_VARIABLE -> {
                    return "#" + numbers.computeIfAbsent(e, k -> numbers.size());
                }
                case FIELD, METHOD -> {
                    if (e.getModifiers().contains(Modifier.PRIVATE)) {
                        return e.getKind() + "#" + numbers.computeIfAbsent(e, k -> numbers.size());
                    }
                    return spelled.toString();
                }
                default -> {
                    return e.getKind() + " " + spelled;
                }
            }
        }

        @Override
        public Void scan(Tree tree, Void v) {
            if (tree == null || tree.getKind() == Tree.Kind.EMPTY_STATEMENT && getCurrentPath().getLeaf() instanceof BlockTree) {
                out.add(tree == null ? "-" : "");
                if (tree != null) {
                    out.remove(out.size() - 1);
                }
                return null;
            }
            out.add("(" + tree.getKind());
            super.scan(tree, v);
            out.add(")");
            return null;
        }

        @Override
        public Void visitVariable(VariableTree tree, Void v) {
            out.add(name(tree.getName()));
            return super.visitVariable(tree, v);
        }

        @Override
        public Void visitIdentifier(IdentifierTree tree, Void v) {
            out.add(name(tree.getName()));
            return null;
        }

        @Override
        public Void visitMemberSelect(MemberSelectTree tree, Void v) {
            out.add(name(tree.getIdentifier()));
            return super.visitMemberSelect(tree, v);
        }

        @Override
        public Void visitMemberReference(MemberReferenceTree tree, Void v) {
            out.add(name(tree.getName()));
            return super.visitMemberReference(tree, v);
        }

        @Override
        public Void visitMethod(MethodTree tree, Void v) {
            out.add(name(tree.getName()));
            return super.visitMethod(tree, v);
        }

        @Override
        public Void visitClass(ClassTree tree, Void v) {
            out.add(tree.getSimpleName().toString());
            return super.visitClass(tree, v);
        }

        @Override
        public Void visitModifiers(ModifiersTree tree, Void v) {
            out.add(tree.getFlags().toString());
            return super.visitModifiers(tree, v);
        }

        @Override
        public Void visitLiteral(LiteralTree tree, Void v) {
            out.add(String.valueOf(tree.getValue()));
            return null;
        }

        @Override
        public Void visitPrimitiveType(PrimitiveTypeTree tree, Void v) {
            out.add(tree.getPrimitiveTypeKind().toString());
            return null;
        }

        @Override
        public Void visitTypeParameter(TypeParameterTree tree, Void v) {
            out.add(tree.getName().toString());
            return super.visitTypeParameter(tree, v);
        }

        @Override
        public Void visitBreak(BreakTree tree, Void v) {
            out.add(String.valueOf(tree.getLabel()));
            return null;
        }

        @Override
        public Void visitContinue(ContinueTree tree, Void v) {
            out.add(String.valueOf(tree.getLabel()));
            return null;
        }

        @Override
        public Void visitLabeledStatement(LabeledStatementTree tree, Void v) {
            out.add(tree.getLabel().toString());
            return super.visitLabeledStatement(tree, v);
        }
    }
}
