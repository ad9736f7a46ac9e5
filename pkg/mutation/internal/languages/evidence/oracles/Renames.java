import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.net.URI;
import java.nio.file.*;
import java.util.*;
import javax.lang.model.element.*;
import javax.tools.*;

/**
 * Renames by javac's symbols: java Renames.java FILE... Each file is compiled
 * alone, in a package that is not its own; names that do not resolve are
 * nobody's. Writes one JSON object a line, as oracle_test.go reads them.
 */
class Renames {
    static final int MOST = 12;

    public static void main(String[] args) throws Exception {
        for (String path : args) {
            String text = Files.readString(Path.of(path));
            if (text.chars().allMatch(c -> c < 128)) {
                renames(path, text);
            }
        }
    }

    static void renames(String path, String text) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        // Of the same length, so that offsets stay.
        String read = text.replaceFirst("(?m)^package ja", "package xa").replaceFirst("(?m)^package com\\.sun", "package com.xun");
        var file = new SimpleJavaFileObject(URI.create("string:///X.java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignore) {
                return read;
            }

            @Override
            public boolean isNameCompatible(String simpleName, Kind kind) {
                return true;
            }
        };
        JavacTask task = (JavacTask) compiler.getTask(null, null, d -> {}, List.of("-proc:none", "-XDshould-stop.ifError=FLOW"), null, List.of(file));
        CompilationUnitTree unit = task.parse().iterator().next();
        task.analyze();
        Map<Element, List<Integer>> places = new LinkedHashMap<>();
        Map<Element, String> kinds = new LinkedHashMap<>();
        new Finder(Trees.instance(task), unit, read, places, kinds).scan(unit, null);
        List<Element> all = new ArrayList<>(kinds.keySet());
        Collections.shuffle(all, new Random(Path.of(path).getFileName().toString().hashCode()));
        int made = 0;
        for (Element e : all) {
            String name = e.getSimpleName().toString(), fresh = name + "Renamed";
            List<Integer> at = places.get(e);
            if (made == MOST) {
                return;
            }
            if (at == null || text.contains(fresh)) {
                continue;
            }
            made++;
            StringBuilder edits = new StringBuilder();
            for (int start : new TreeSet<>(at)) {
                edits.append(edits.length() > 0 ? "," : "")
                    .append(String.format("{\"start\":%d,\"end\":%d,\"text\":\"%s\"}", start, start + name.length(), fresh));
            }
            System.out.printf("{\"path\":\"%s\",\"name\":\"%s\",\"fresh\":\"%s\",\"kind\":\"%s\",\"edits\":[%s]}%n", path, name, fresh, kinds.get(e), edits);
        }
    }

    static class Finder extends TreePathScanner<Void, Void> {
        final Trees trees;
        final CompilationUnitTree unit;
        final String text;
        final Map<Element, List<Integer>> places;
        final Map<Element, String> kinds;
        final SourcePositions positions;

        Finder(Trees trees, CompilationUnitTree unit, String text, Map<Element, List<Integer>> places, Map<Element, String> kinds) {
            this.trees = trees;
            this.unit = unit;
            this.text = text;
            this.places = places;
            this.kinds = kinds;
            this.positions = trees.getSourcePositions();
        }

        void place(Tree tree, String name, int from) {
            Element e = trees.getElement(getCurrentPath());
            int at = text.indexOf(name, from);
            if (e != null && at >= 0) {
                places.computeIfAbsent(e, k -> new ArrayList<>()).add(at);
            }
        }

        @Override
        public Void visitVariable(VariableTree tree, Void v) {
            Element e = trees.getElement(getCurrentPath());
            // The type of `byte b[]` ends after the name.
            int from = tree.getType() == null ? -1 : (int) positions.getStartPosition(unit, tree.getType());
            if (from < 0) {
                from = (int) positions.getStartPosition(unit, tree);
            }
            String name = tree.getName().toString();
            if (e != null && from >= 0 && !name.isEmpty()) {
                // javac keeps no place of the name itself: the first of that word.
                var m = java.util.regex.Pattern.compile("\\b" + java.util.regex.Pattern.quote(name) + "\\b").matcher(text);
                Tree above = getCurrentPath().getParentPath().getLeaf();
                boolean component = e.getKind() == ElementKind.FIELD && above instanceof ClassTree && ((ClassTree) above).getKind() == Tree.Kind.RECORD;
                if (m.find(from) && !component && e.getKind() != ElementKind.ENUM_CONSTANT) {
                    places.computeIfAbsent(e, k -> new ArrayList<>()).add(m.start());
                    switch (e.getKind()) {
                        case FIELD -> kinds.put(e, e.getModifiers().contains(Modifier.PRIVATE) ? "private member" : "member");
                        case PARAMETER -> kinds.put(e, above instanceof MethodTree && ((MethodTree) above).getBody() == null ? "parameter without body" : "parameter");
                        case LOCAL_VARIABLE, EXCEPTION_PARAMETER, RESOURCE_VARIABLE, BINDING_VARIABLE -> kinds.put(e, "local");
                        default -> { }
                    }
                }
            }
            return super.visitVariable(tree, v);
        }

        @Override
        public Void visitIdentifier(IdentifierTree tree, Void v) {
            int from = (int) positions.getStartPosition(unit, tree);
            if (from >= 0) {
                place(tree, tree.getName().toString(), from);
            }
            return super.visitIdentifier(tree, v);
        }

        @Override
        public Void visitMemberSelect(MemberSelectTree tree, Void v) {
            int end = (int) positions.getEndPosition(unit, tree);
            if (end >= 0) {
                place(tree, tree.getIdentifier().toString(), end - tree.getIdentifier().length());
            }
            return super.visitMemberSelect(tree, v);
        }
    }
}
