// The expected texts are those of Beautiful Soup 4.15 with html.parser under Python 3.11.
#include "perfuse/tokenizers/html_text.h"

#include <gtest/gtest.h>

#include "perfuse/core/error.h"
#include "perfuse/tokenizers/utf8.h"

namespace perfuse {
namespace {

std::string text(std::string_view html) {
  CleaningBudget budget;
  return to_utf8(html_text(to_utf32(html), budget));
}

TEST(HtmlText, TagsAndWhatTheyHide) {
  EXPECT_EQ(text("a<b>c</b>d<br>e</br>f"), "acdef");
  EXPECT_EQ(text("x<script>var a = '<b>';</script>y<style>z</style>w"), "xyw");
  EXPECT_EQ(text("a<script>b"), "a");
  EXPECT_EQ(text("a<ruby>b<rt>c</rt></ruby>d"), "abd");
  EXPECT_EQ(text("a<template>b<i>c</i></template>d"), "ad");
  EXPECT_EQ(text("a<pre>  </pre>b<p>  </p>c<i>\n </i>d"), "a  b c\nd");
  EXPECT_EQ(text("a<![CDATA[ b ]]>c<![cdata[]]>d"), "a b c d");
  EXPECT_EQ(text("<!doctype html>a<?php b ?>c<!d>e<!-- f > g --  >h"), "aceh");
}

TEST(HtmlText, BrokenTags) {
  EXPECT_EQ(text("5 < 6 <3"), "5 < 6 <3");
  EXPECT_EQ(text("a <b"), "a <b");
  EXPECT_EQ(text("a<!-- b>c"), "a<!-- b>c");
  EXPECT_EQ(text("a <b x='c>d"), "a <b x='c>d");
  EXPECT_EQ(text("a <b x='c>d' e>f"), "a f");
  EXPECT_EQ(text("a<b \"c>d"), "ad");
  EXPECT_EQ(text(std::string("a<b\0c>d", 7)), std::string("a<b\0c>d", 7));
  EXPECT_EQ(text("a</>b</ c>d</e f='>'>g"), "abd'>g");
  EXPECT_EQ(text("</"), "</");
}

TEST(HtmlText, References) {
  EXPECT_EQ(text("R&D; x"), "R&D x");
  EXPECT_EQ(text("caf&eacute x &copyright &copy;right &notit; "), "café x &copyright ©right &notit ");
  EXPECT_EQ(text("&#65 b&#x41;&#128;&#0;&#xd800;&#x1;"), "A bA€\ufffd\ufffd\x01");
  EXPECT_EQ(text("a&foo"), "a&foo");
  EXPECT_EQ(text("a&f"), "af");
  EXPECT_EQ(text("a & b &"), "a & b &");
  EXPECT_EQ(text("&#12a; b <c>d"), "&#12a; b d");
}

TEST(HtmlText, RefusesWhatBeautifulSoupRefuses) {
  EXPECT_THROW(text("a <![b]> c"), Error);
  EXPECT_THROW(text("a <!["
                    "] c"),
               Error);
}

}  // namespace
}  // namespace perfuse
