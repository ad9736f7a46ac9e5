<?php
// Renames by PHP's own tokens: php php.php FILE... A variable belongs to the
// function around it; a closure shares it if it says `use`, an arrow function
// does unless it has a parameter of that name. Functions that find variables by
// their names are left out. Writes one JSON object a line, as oracle_test.go
// reads them.
$most = (int)(getenv('ORACLE_RENAMES') ?: 12);

foreach (array_slice($argv, 1) as $path) {
    $text = file_get_contents($path);
    if (preg_match('/[^\x00-\x7f]/', $text)) {
        continue;
    }
    try {
        $tokens = PhpToken::tokenize($text, TOKEN_PARSE);
    } catch (ParseError) {
        continue;
    }
    $tokens = array_values(array_filter($tokens, fn ($t) => !$t->is([T_WHITESPACE, T_COMMENT, T_DOC_COMMENT])));
    $functions = functions($tokens);
    mt_srand(crc32(basename($path)));
    $made = 0;
    $tries = 0;
    $seen = [];
    while ($functions && $made < $most && $tries++ < 200) {
        $f = $functions[mt_rand(0, count($functions) - 1)];
        if ($f['closure']) {
            continue;
        }
        $names = names($tokens, $f);
        if (!$names) {
            continue;
        }
        $name = $names[mt_rand(0, count($names) - 1)];
        $fresh = $name . '_renamed';
        if (isset($seen[$f['from'] . $name]) || str_contains($text, substr($fresh, 1)) || str_contains(substr($text, $tokens[$f['from']]->pos, 100000), '$$')) {
            continue;
        }
        $seen[$f['from'] . $name] = true;
        [$edits, $kind] = edits($tokens, $functions, $f, $name, $fresh);
        if ($edits === null) {
            continue;
        }
        $made++;
        echo json_encode(['path' => $path, 'name' => $name, 'fresh' => $fresh, 'kind' => $kind, 'edits' => $edits]), "\n";
    }
}

// functions finds where each function begins and ends: from its word to its last token.
function functions(array $tokens): array
{
    $found = [];
    foreach ($tokens as $i => $t) {
        if (!$t->is([T_FUNCTION, T_FN]) || $i > 0 && $tokens[$i - 1]->is([T_USE, T_OBJECT_OPERATOR, T_DOUBLE_COLON])) {
            continue;
        }
        $arrow = $t->is(T_FN);
        $j = $i + 1;
        while ($tokens[$j]->text !== '(') {
            $j++;
        }
        $closure = $arrow || !$tokens[$j - 1]->is(T_STRING) && !ctype_alpha($tokens[$j - 1]->text[0]) || $tokens[$j - 1] === $t;
        $open = $j;
        $close = past($tokens, $j);
        $shared = [];
        $k = $close;
        if ($tokens[$k]->is(T_USE)) {
            $end = past($tokens, $k + 1);
            for (; $k < $end; $k++) {
                if ($tokens[$k]->is(T_VARIABLE)) {
                    $shared[] = $tokens[$k]->text;
                }
            }
        }
        while (!in_array($tokens[$k]->text, ['{', ';', '=>'], true)) {
            $k++;
        }
        $parameters = [];
        for ($p = $open; $p < $close; $p++) {
            if ($tokens[$p]->is(T_VARIABLE)) {
                $parameters[] = $tokens[$p]->text;
            }
        }
        if ($tokens[$k]->text === '{') {
            $end = past($tokens, $k);
        } elseif ($tokens[$k]->text === ';') {
            continue;
        } else {
            for ($end = $k + 1, $depth = 0; $end < count($tokens); $end++) {
                $x = $tokens[$end]->text;
                if (in_array($x, ['(', '[', '{'], true) || $tokens[$end]->is([T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES])) {
                    $depth++;
                } elseif (in_array($x, [')', ']', '}'], true) && --$depth < 0 || $depth === 0 && in_array($x, [',', ';'], true)) {
                    break;
                }
            }
        }
        $found[] = ['from' => $i, 'to' => $end, 'arrow' => $arrow, 'closure' => $closure, 'shared' => $shared, 'parameters' => $parameters];
    }
    return $found;
}

// past is the token after the bracket that closes the one at $i.
function past(array $tokens, int $i): int
{
    for ($depth = 0; $i < count($tokens); $i++) {
        if (in_array($tokens[$i]->text, ['(', '[', '{'], true) || $tokens[$i]->is([T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES, T_ATTRIBUTE])) {
            $depth++;
        } elseif (in_array($tokens[$i]->text, [')', ']', '}'], true) && --$depth === 0) {
            return $i + 1;
        }
    }
    return $i;
}

function names(array $tokens, array $f): array
{
    $names = [];
    for ($i = $f['from']; $i < $f['to']; $i++) {
        if ($tokens[$i]->is(T_VARIABLE) && $tokens[$i]->text !== '$this' && !$tokens[$i - 1]->is(T_DOUBLE_COLON) && $tokens[$i]->text[1] !== '_') {
            $names[$tokens[$i]->text] = true;
        }
        if ($tokens[$i]->is([T_CLASS, T_STATIC, T_GLOBAL, T_INCLUDE, T_REQUIRE, T_INCLUDE_ONCE, T_REQUIRE_ONCE, T_EVAL])
            || in_array(strtolower($tokens[$i]->text), ['compact', 'extract', 'get_defined_vars', 'parse_str', 'public', 'private', 'protected', 'readonly'], true)) {
            return [];
        }
    }
    return array_keys($names);
}

function edits(array $tokens, array $functions, array $f, string $name, string $fresh): array
{
    $hidden = [];
    foreach ($functions as $g) {
        if ($g['from'] > $f['from'] && $g['to'] <= $f['to']) {
            $own = in_array($name, $g['parameters'], true);
            if ($own || !$g['arrow'] && !in_array($name, $g['shared'], true)) {
                for ($i = $g['from']; $i < $g['to']; $i++) {
                    $hidden[$i] = true;
                }
            }
        }
    }
    $edits = [];
    for ($i = $f['from']; $i < $f['to']; $i++) {
        $t = $tokens[$i];
        if ($t->is(T_VARIABLE) && $t->text === $name && !isset($hidden[$i])) {
            $edits[] = ['start' => $t->pos, 'end' => $t->pos + strlen($name), 'text' => $fresh];
        } elseif ($t->is(T_STRING_VARNAME) && '$' . $t->text === $name) {
            return [null, ''];
        }
    }
    return [$edits ?: null, in_array($name, $f['parameters'], true) ? 'parameter' : 'local'];
}
