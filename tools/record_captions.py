#!/usr/bin/env python3
"""Writes made-up captions with what diffusers makes of them, as JSON: [[caption, cleaned], ...].

usage: record_captions.py PIPELINE COUNT SEED > captions.json
       PERFUSE_CAPTIONS=captions.json build/release/bin/test_tokenizers --gtest_filter='*ThatOfDiffusers'

PIPELINE is diffusers' pipelines/pixart_alpha/pipeline_pixart_alpha.py, of which only the cleaning is run. Needs
`pip install ftfy==6.3.1 beautifulsoup4==4.15.0`. Captions that diffusers itself fails on are left out.
"""

import ast
import html
import html.entities
import json
import random
import re
import sys
import urllib.parse
import warnings

import bs4
import ftfy

ENT=[n for n in html.entities.html5]
SENT="""a photo of a cute cat sitting on a table|A beautiful sunset over the ocean, 4k, highly detailed|ein Schild mit „Hallo Welt“|une église à Paris, l'été|el niño está en el jardín ¿dónde?|красивая девушка в парке|Ένα μικρό σπίτι|一只可爱的猫 坐在 桌子上|日本の桜 カタカナ ひらがな|portrait of a woman – oil painting — by Van Gogh|R&D; department|caf&eacute paris|AT&T building|fish &amp; chips|rock &amp;amp; roll|Tom &quot;the cat&quot; Hanks|5 &lt; 6 &gt; 3|price: £20.00 €15|free shipping worldwide|download free image.png|click for more|page 12 of 30|jc6640vc abc123 12ab34|1920x1080 wallpaper|10х20 cm|size 3.5×4.5|visit https://www.example.com/foo?x=1 now|see example.org for info|contact me@example.com|@nickname hello|192.168.0.1 server|#123 and #12345 and 1234567|this-is-my-cute-cat-photo|this_is_my_file_name_x|\\nnew line\\n|***SALE***|"quoted text"|'single'|``tex quotes''|«guillemets»|‚low‘ ‹angle›|“curly” ‘single’|it’s o’clock|ﬁne ﬂower oﬃce|ＦＵＬＬ　ＷＩＤＴＨ １２３|ｶﾀｶﾅ ﾊﾟﾋﾟ|ĳssel ŉ ǆ ǌ|½ cup ¼ ²³|♥ ☃ 😀👍🏽 👨‍👩‍👧|İstanbul ΣΑΣ ẞ|12:30   |time 5:45 |a . b . c|hello...world|foo.bar,baz/qux|<person> riding a horse|image.jpg photo.jpeg|a_b-c_d-e|-leading|trailing-|.hidden|:colon: x : y""".split('|')
TAGS="<b>|</b>|<br>|<br/>|</br>|<p>|</p>|<i|<a href='x'>|<a href=\"x|<a href='x|<img src=x.png>|<img/>|<script>|</script>|<style>|</style >|</ script>|<SCRIPT>|<pre>|</pre>|<textarea>|</textarea>|<rt>|</rt>|<rp>|<template>|</template>|<!-- c -->|<!-- c --|<!-->|<!--->|<!-- x --!>|<!doctype html>|<!doctype|<!foo>|<!>|<![cdata[x]]>|<![CDATA[ y ]] >|<![if x]>|<![endif]>|<![endif]|<?php x ?>|<?xml|</>|</ b>|</b x='>'>|<b/ >|<b / x>|<b x=1 y='2' z=\"3\">|<b x=='a>|<b x= 'a>|<b =>|<b'c\">|<b \x00>|<|<<|< b|<3|<->|>|>>|->|<svg/onload=x>|<a b=\"c\"d>|<a/b/c>|<a\tb\n>|<a b=c/>|</|</p|<p//>|<![cdata[]]>|<meta charset=utf8>|<b x=\"&amp;\">|<title>|<li>|<table><tr><td>|<1>|<é>|<bé>|<b x=é>|<style/>|<b<c>|<a href=http://x.com/?a=1&b=2>|<b  >|<hr></hr>|<![temp x]]>|<![foo]]>|<![".split('|')
ENTS="&amp;|&amp|&|&&|&;|&#|&#;|&#x|&#x;|&#65;|&#65|&#x41;|&#x41|&#X41;|&#0;|&#128;|&#x80;|&#x81;|&#150;|&#xd800;|&#x110000;|&#99999999;|&#1;|&#11;|&#13;|&#xfffe;|&#xfdd0;|&#12abc;|&#x1F600;|&#8220;|&#8221;|&copy|&copyright|&copy;|&notit;|&not|&notin;|&lt|&lt;|&lt;b&gt;|&gt;|&quot|&quot;|&apos;|&nbsp;|&nbsp|&eacute|&eacute;|&EACUTE;|&Eacute;|&SZLIG;|&AMP;|&amp;eacute;|&amp;amp;lt;|&amp;#65;|&hellip;|&rsquo;|&ldquo;x&rdquo;|&foo;|&foo|&foo.bar;|&foo-bar|&a|&a;|&b.|&x-|&-|&1;|& ;|&NotEqualTilde;|&fjlig;|&bne;|&ThickSpace;|&zwj;|&shy;|&acE;|&times;|&x27;|&#39;|&#039;|&#x27;|&#59;|&#38;|&#60;b&#62;|&CounterClockwiseContourIntegral;|&é;|&amp;quot;|&notinva|&gtcc;|&ampx|&lta|&prod;|&prods".split('|')
CTRL=["\x00","\x01","\x07","\x0b","\x0c","\r\n","\r","\n","\t","\x1a","\x1b[31m","\x1b[0m","\x1b[1;32m","\x1b[","\x1b","\x1b[5","\x1c","\x1f","\x7f","\x80","\x85","\x92","\x93","\x94","\x9d","\xa0","\xad","\u2028","\u2029","\ufeff","\ufffd","\ufffc","\u200b","\u200d","\u202e","\u206a","\ufff9","\u3000","\ufe0f","\u0301","\u0345","e\u0301","\u1e9b\u0323","\uffff","\U000e0067","\u0130","\u212b","\uffe3","\uffa0","\uffe8","\uff9e"]
QUO=list("\"'`´“”‘’‚„‛‟«»‹›″′〝〞〟「」『』ʼˈ¨¸＂＇❝❞")
PCT="%20|%41|%C3%A9|%c3|%E2%80%9C|%FF|%00|%|%%|%4|%zz|+|%2B|%26amp%3B|%3Cb%3E|%E2%82|%F0%9F%98%80|%ED%A0%80|%C0%80|%e2%28|%f4%90%80%80|%0a|%EF%BB%BF".split('|')
URLS="http://x.com|https://www.Example.com/a-b/c?d=e#f|www.foo.net|foo.org/bar|ftp://x.edu|a.b.c.com@x|bar.gov/|WWW:x|www:///x|mail.ru:80|x.it.|http:/|https:%|1.2.3.com/é|a-b.co_x".split('|')
MOJI="schön|Ünïcödé|“quotes”|it’s|— dash –|naïve café|€ 5|日本語|привет мир|Ελληνικά|😀 emoji|עברית|العربية شكرا|ไทย|한국어|àla mode|à la carte|às vezes|ðiš|žluťoučký kůň|Ω≈ç√|…|®™©|½ ²|\xa0x|Š P|हिन्दी|తెలుగు|ß|œuvre|Łódź|™|•|L’épée|Россия|№ 5".split('|')
ENC=["latin-1","cp1252","cp1251","cp1250","cp1253","cp1254","cp1257","iso-8859-2","mac_roman","cp437","sloppy-windows-1252","sloppy-windows-1251","sloppy-windows-1253"]
def garble(r,s,depth=1):
    for _ in range(depth):
        try: s=s.encode('utf-8').decode(r.choice(ENC), r.choice(['strict','replace','ignore']))
        except Exception: s=s.encode('utf-8','replace').decode('sloppy-windows-1252')
    k=r.random()
    if k<.15: s=s.replace('\xa0',' ')
    elif k<.2: s=s.replace('\ufffd','?')
    elif k<.25: s=s.lower()
    elif k<.3: s=''.join(c for c in s if r.random()>.1)
    return s
def cesu(r):
    b=chr(r.randrange(0x1f300,0x1f700)).encode('utf-16-be'); 
    x=b''.join(chr(int.from_bytes(b[i:i+2],'big')).encode('utf-8','surrogatepass') for i in (0,2))
    x=x[:r.choice([6,6,6,5,3,2])]
    return (x+r.choice([b'',b'\xc0\x80',b'\xc0',b'\xed\x95\x9c'])).decode(r.choice(['latin-1','sloppy-windows-1252']))
from ftfy.badness import MOJIBAKE_CATEGORIES
from ftfy.chardata import UTF8_CLUES
def mem(s):
    out=[];i=0
    while i<len(s):
        if i+2<len(s) and s[i+1]=='-': out+=[chr(c) for c in range(ord(s[i]),ord(s[i+2])+1)];i+=3
        else: out.append(s[i]);i+=1
    return out
CATS=[mem(v) for v in list(MOJIBAKE_CATEGORIES.values())+list(UTF8_CLUES.values())]
LIT=list("ÂÃÎÐ×²³ØÙà√≈‚Äâóв Ђ ВГРС ГўВЂВ βΒΓΞΟā€°µ½¾Œœ a Z.,?!_5")
def weird(r):
    return ''.join(r.choice(r.choice(CATS)) if r.random()<.7 else r.choice(LIT) for _ in range(r.randrange(2,7)))
def cp(r):
    while True:
        c=r.choice([r.randrange(0x20,0x250),r.randrange(0x250,0x2000),r.randrange(0x2000,0x3400),r.randrange(0xf900,0x10000),r.randrange(0x10000,0x1fb00)])
        if not 0xd800<=c<0xe000: return chr(c)
def snippet(r):
    k=r.randrange(24)
    if k<4: return r.choice(SENT)
    if k<7: return r.choice(TAGS)
    if k<10: return r.choice(ENTS)
    if k==10: return '&'+(r.choice(ENT) if r.random()<.7 else r.choice(ENT)[:r.randrange(1,8)])+r.choice(['',';','x',' ','='])
    if k==11: return r.choice(CTRL)
    if k==12: return r.choice(QUO)+r.choice(SENT)[:r.randrange(1,10)]+r.choice(QUO)
    if k==13: return r.choice(PCT)+r.choice(['',r.choice(PCT)])
    if k==14: return r.choice(URLS)
    if k<17: return garble(r,r.choice(MOJI),r.choice([1,1,1,1,2,2,3]))
    if k==17: return weird(r)
    if k==18: return cesu(r) if r.random()<.5 else ''.join(cp(r) for _ in range(r.randrange(1,4)))
    if k==19: return r.choice("-_.,:;'\"#@&/\\*()[]{}|~+=!?<>%$^")*r.randrange(1,4)
    if k==20: return str(r.randrange(10**r.randrange(1,9)))+r.choice(['','x','a','.',':30','abc'])
    if k==21: return r.choice(TAGS)[:r.randrange(1,6)]+r.choice(ENTS)[:r.randrange(1,6)]
    if k==22: return ''.join(r.choice("<>/!-[]&#;='\" abx1\n") for _ in range(r.randrange(1,12)))
    return r.choice(SENT).title()
def caption(r):
    k=r.random()
    if k<.1: 
        s=garble(r,r.choice(SENT)+' '+r.choice(MOJI),r.choice([1,1,2]))
    elif k<.15: s=r.choice(SENT)+r.choice(['',' '])+r.choice(SENT)
    elif k<.2:
        s=r.choice(SENT); i=r.randrange(len(s)+1); s=s[:i]+snippet(r)+s[i:]
    else: s=r.choice(['',' ']).join(snippet(r) for _ in range(r.randrange(1,r.choice([3,5,9]))))
    return s


def cleaner(path):
    pipeline = next(n for n in ast.parse(open(path).read()).body
                    if isinstance(n, ast.ClassDef) and n.name == "PixArtAlphaPipeline")
    pipeline.bases, pipeline.body = [], [
        n for n in pipeline.body if getattr(n, "name", "") == "_clean_caption" or isinstance(n, ast.Assign)
        and n.targets[0].id == "bad_punct_regex"]
    names = {"re": re, "html": html, "ul": urllib.parse, "ftfy": ftfy, "BeautifulSoup": bs4.BeautifulSoup}
    exec(compile(ast.Module([pipeline], []), path, "exec"), names)
    clean = names["PixArtAlphaPipeline"]()._clean_caption
    return lambda text: clean(clean(text))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    clean, count, r = cleaner(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    rows = []
    while len(rows) < count:
        text = caption(r)
        try:
            text.encode()
            rows.append(json.dumps([text, clean(text)]))
        except (UnicodeError, bs4.exceptions.ParserRejectedMarkup):
            pass
    print("[\n" + ",\n".join(rows) + "\n]")
