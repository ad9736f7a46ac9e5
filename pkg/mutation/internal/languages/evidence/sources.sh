#!/bin/sh
# Fetches real programs in the languages of this package from Debian and npm,
# for the long measurements: sources.sh DIRECTORY. Nothing is installed, and
# nothing outside of DIRECTORY changes. Needs apt-get, dpkg-deb, npm and unzip;
# takes 170 MB of downloads and leaves DIRECTORY/LANGUAGE/PACKAGE/...
set -eu
[ $# -eq 1 ] || { echo "usage: $0 DIRECTORY" >&2; exit 2; }
mkdir -p "$1/fetched"
root=$(cd "$1" && pwd)
fetched=$root/fetched

# deb NAME unpacks what Debian's package holds.
deb() {
	[ -d "$fetched/$1" ] && return
	(cd "$fetched" && apt-get -o APT::Sandbox::User=root download -qq "$1") || return
	dpkg-deb -x "$fetched/$1"_*.deb "$fetched/$1"
	rm "$fetched/$1"_*.deb
}

# npm_package NAME@VERSION unpacks what npm's package holds; its scripts do not run.
npm_package() {
	plain=$(echo "$1" | tr -d @ | tr / -)
	[ -d "$fetched/$plain" ] && return
	archive=$(cd "$fetched" && npm pack --silent --ignore-scripts "$1" 2>/dev/null | tail -1)
	mkdir -p "$fetched/$plain"
	tar xzf "$fetched/$archive" -C "$fetched/$plain"
	rm "$fetched/$archive"
}

# take LANGUAGE FROM-LINES ENDING... PACKAGE copies the files of a size between
# FROM-LINES and 2,000 lines that people wrote.
take() {
	language=$1 least=$2 package=$3
	shift 3
	[ -d "$fetched/$package" ] || return 0
	for ending; do
		find "$fetched/$package" -type f -name "*.$ending" ! -name '*.min.*' ! -name '*.d.ts' ! -path '*/codegen/*' ! -path '*/generated/*' |
		LC_ALL=C sort | while IFS= read -r path; do
			lines=$(wc -l <"$path")
			if [ "$lines" -ge "$least" ] && [ "$lines" -le 2000 ]; then
				to=$root/$language/$package/$(echo "${path#"$fetched/$package/"}" | tr / _)
				mkdir -p "${to%/*}"
				cp "$path" "$to"
			fi
		done
	done
}

for package in nginx-dev lttng-modules-dkms openjdk-17-source libruby3.1 libpython3.11-stdlib phpunit composer php-symfony-console \
	php-twig php-codesniffer librust-syn-dev librust-regex-dev librust-regex-syntax-dev librust-regex-automata-dev librust-itertools-dev \
	librust-memchr-dev librust-semver-dev librust-hashbrown-dev librust-smallvec-dev librust-nom-dev libboost1.74-dev; do
	deb $package
done
for package in rxjs@7.8.2 zod@4.1.12 react-native@0.79.7 react-native-windows@0.79.5 react-native-paper@5.14.5 @gorhom/bottom-sheet@5.2.6 \
	react-native-gesture-handler@2.28.0 @react-navigation/elements@2.6.4 re2@1.22.1 leveldown@6.1.1 tree-sitter@0.25.0 libxmljs@1.0.11 \
	hiredis@0.5.0 iltorb@2.4.5 node-expat@2.4.1 lz4@0.6.5 edge-js@23.1.1 express@5.1.0 lodash@4.17.21 eslint@8.57.1 webpack@5.101.3 \
	kotlin-compiler@2.2.20; do
	npm_package $package
done
if [ ! -d "$fetched/jdk" ]; then
	unzip -q "$(find "$fetched/openjdk-17-source" -name src.zip)" 'java.base/java/util/*' 'java.base/java/io/*' 'java.base/java/text/*' \
		'java.logging/*' 'jdk.httpserver/*' 'jdk.compiler/com/sun/tools/javac/*' -d "$fetched/jdk"
fi
if [ ! -d "$fetched/kotlin-stdlib" ]; then
	unzip -q -o "$fetched/kotlin-compiler2.2.20/package/lib/kotlin-stdlib-sources.jar" '*.kt' -d "$fetched/kotlin-stdlib"
fi

for package in nginx-dev lttng-modules-dkms; do take c 100 $package c h; done
for package in tree-sitter0.25.0 libxmljs1.0.11 hiredis0.5.0 iltorb2.4.5 node-expat2.4.1 lz40.6.5; do take c 100 $package c; done
for package in re21.22.1 leveldown6.1.1 react-native0.79.7 edge-js23.1.1; do take cpp 100 $package cc cpp; done
take cpp 100 libboost1.74-dev hpp
for package in react-native-windows0.79.5 edge-js23.1.1; do take csharp 70 $package cs; done
take java 100 jdk java
for package in express5.1.0 lodash4.17.21 eslint8.57.1 webpack5.101.3; do take javascript 100 $package js; done
for package in kotlin-stdlib react-native0.79.7 react-native-gesture-handler2.28.0; do take kotlin 100 $package kt; done
for package in phpunit composer php-symfony-console php-twig php-codesniffer; do take php 100 $package php; done
take python 100 libpython3.11-stdlib py
take ruby 100 libruby3.1 rb
for package in "$fetched"/librust-*; do take rust 100 "${package##*/}" rs; done
for package in rxjs7.8.2 zod4.1.12; do take typescript 100 $package ts; done
for package in react-native-paper5.14.5 gorhom-bottom-sheet5.2.6 react-native-gesture-handler2.28.0 react-navigation-elements2.6.4; do
	take tsx 100 $package tsx
done
for language in "$root"/*; do
	[ "$language" = "$fetched" ] || echo "${language##*/}: $(find "$language" -type f | wc -l) files"
done
