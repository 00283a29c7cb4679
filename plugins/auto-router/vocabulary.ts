/**
 * Words and phrases that speak for a task, by the points that each one gives.
 * A plural or verb form in `s` counts as its word; an underscore stands for the space in a phrase.
 */
import type { Task } from './tasks.ts'

export const VOCABULARY: readonly (readonly [task: Task, points: number, words: string])[] = [
  [
    'coding',
    3,
    `python javascript typescript java kotlin rust golang c++ c# php ruby sql bash powershell html css react angular svelte django
    kubernetes docker dockerfile git github gitlab regex debug refactor pytest unit_test stack_trace codebase mutex semaphore segfault
    compiler webpack node.js pull_request traceback nginx terraform time_complexity linked_list hash_map data_structure matlab programming subarray regular_expression source_code operating_system`,
  ],
  [
    'coding',
    2,
    `code function bug exception compile algorithm npm pip api endpoint array localhost frontend backend recursion async database
    postgres mysql sqlite mongodb redis linux jest vue flask unit_tests shell_script css_class type_error syntax_error programmiere
    funktion fonction función código workflow kernel json_schema crash crashes null_pointer deadlock boolean program queue stack binary_tree string_parameter website web_app microservice`,
  ],
  [
    'coding',
    1,
    `implement script class method variable loop query repository commit branch merge deploy server framework library pod thread pointer
    yaml json http regexp string integer component parameter runtime cache test tests build config terminal app`,
  ],
  [
    'math',
    3,
    `equation integral derivative theorem polynomial eigenvalue determinant square_root standard_deviation algebra calculus arithmetic
    geometry logarithm how_many_ways prime_number irrational trigonometry quadratic gleichung wahrscheinlichkeit ecuación équation
    compound_interest hypotenuse perimeter line_segment slope parabola ellipse square_roots greatest_common least_common natural_numbers real_numbers positive_integer positive_integers average_speed`,
  ],
  [
    'math',
    2,
    `solve calculate compute prove proof probability matrix percent fraction triangle radius circumference angle modulo permutation
    combination induction integer prime factorial differentiate integrate converge berechne wurzel ableitung calcula calcule raíz racine
    median variance cosine sine tangent divisible remainder dice km/h mph coordinate coordinates rectangle diameter vertex hexagon denominator numerator how_many_times velocity`,
  ],
  [
    'math',
    1,
    `simplify factor sum average area volume vector sequence how_old how_much how_many evaluate interest per_hour coin coins cost costs
    twice half_as_many find_all product ratio limit show_that digits square cube value_of miles kilometers kilometres minutes hours speed distance total dollars`,
  ],
  [
    'reasoning',
    3,
    `puzzle riddle step_by_step deduce think_carefully trade-off trade-offs tradeoff tradeoffs root_cause pros_and_cons comes_next
    for_and_against reason_through logically contradict fallacy paradox weigh_the_options rätsel énigme acertijo advantages_and_disadvantages what_if odd_one_out if_you_had_to_choose`,
  ],
  [
    'reasoning',
    2,
    `compare weigh infer deduction contradiction syllogism premise conclude conclusion flaw hypothesis if_all given_that
    analyse analyze argument arguments strategy liar lies taller shorter older younger heavier constraints assumption vergleiche compara
    which_one_is reasons_for truth statements scenario implications consequences had_never had_not would_be_different would_have determine_if clues seated sitting would_happen brain_teaser assume overtake how_would_the`,
  ],
  [
    'reasoning',
    1,
    `why plan decide decision options think better best evaluate definitely explain_why cause exactly_one at_least_one must may_not
    cannot who_is_the true false next_to left_of right_of in_the_middle either neither nobody everybody every possible choose logic
    assess prioritise prioritize find_out only once facing pattern relationship brother sister father mother son daughter follows order determine direction north south based_on conditions`,
  ],
  ['reasoning', 1.5, `should_we should_i sit sits suppose`],
  [
    'writing',
    3,
    `poem haiku essay rewrite rephrase paraphrase proofread slogan tagline lyrics sonnet limerick screenplay press_release cover_letter
    product_description gedicht poema poème short_story pretend roleplay role-play opinion_piece personal_statement act_as imagine_you_are`,
  ],
  [
    'writing',
    2,
    `story draft compose email letter speech dialogue caption headline blog song joke apology invitation bio biography catchy persuasive
    in_the_style_of more_professional tone grammar spelling linkedin newsletter verfasse formuliere rédige redacta schreib schreibe écris
    escribe brief carta lettre cuento geschichte creative_writing continue_the_story fairy_tale plain_english toast eulogy if_you_were introduce_yourself report lesson_plan podcast card outline as_a_character fantasy stay_in_character in_the_voice_of anecdote vivid`,
  ],
  ['writing', 1.5, `write rework polish shorten reword brainstorm`],
  [
    'writing',
    1,
    `title article post tweet paragraph style formal friendly professional funny marketing character chapter plot edit correct announce
    announces words sentence congratulate message advertisement scene narrator novel improve review`,
  ],
  [
    'extraction',
    3.5,
    `extract summarize summarise summary tl;dr classify categorize categorise extrahiere extrais extrae zusammenfassung zusammenfassen
    klassifiziere résume résumez clasifica key_points pull_out`,
  ],
  [
    'extraction',
    2.5,
    `sentiment as_json into_json csv named_entities list_all list_every find_all bullet_points structured_data keywords spam label tag
    json_object from_this_text from_the_text from_these_notes mentioned annotate from_the_following in_json answer_in_json json_array named_entity read_the_following based_on_the_following`,
  ],
  [
    'extraction',
    1.5,
    `parse table column columns field fields identify invoice following_text following_article following_review following_message
    all_names all_dates names dates email_addresses phone_number text_below neutral key_value transcript categories assign following_passage following_paragraph provided_text key_information occurrences`,
  ],
  [
    'extraction',
    1,
    `list entity contract complaint review resume receipt document topic positive negative each return text fill_in structured amount
    article passage meeting notes category format passages records rating ratings the_following`,
  ],
  [
    'translation',
    4,
    `translate translation translator translated übersetze übersetzen übersetzung traduis traduire traduction traduisez traduce traducir
    traducción traduz traduza tradução traduci tradurre переведи перевод how_do_you_say how_do_i_say how_would_you_say`,
  ],
  ['translation', 2.5, `localize localise localization mean_in word_for interpreter bilingual`],
  [
    'general',
    2,
    `hello hi hey thanks thank_you hallo danke bonjour merci hola gracias recommend recipe cook capital_of tips travel
    history_of`,
  ],
  [
    'general',
    0.6,
    `explain describe tell_me what who when where which how was wer wie wann qui quel quelle comment cuál quién cómo advice healthy
    country countries what_does what_is meaning_of difference_between interesting`,
  ],
]

/** Counted only where tools are offered: the verbs of acting on something outside the conversation. */
export const ACTIONS: readonly string[] = [
  ...'search find look_up book send open check schedule create remind reminder add delete remove cancel update assign order buy turn_on'.split(
    ' ',
  ),
  ...'turn_off call run restart browse fetch download upload move rename set play pause post read list show my our calendar mail mails'.split(
    ' ',
  ),
  ...'inbox ticket file files folder folders tomorrow today tonight yesterday now weather flight meeting message last_month'.split(' '),
]

/** Words that set conditions: several different ones make a puzzle or a plan. */
export const CONDITIONS: readonly string[] =
  'must cannot only each neither nor exactly either unless always never same different not every none both without least most except'.split(
    ' ',
  )

/** Languages by the names that prompts use for them. */
export const LANGUAGES: readonly string[] =
  `english french german spanish italian portuguese dutch polish russian japanese chinese mandarin cantonese korean arabic hindi urdu
  bengali turkish swedish norwegian danish finnish icelandic greek hebrew latin czech slovak hungarian ukrainian romanian bulgarian serbian
  croatian vietnamese thai indonesian malay persian swahili catalan irish welsh deutsch deutsche englisch englische englischen französisch
  französische spanisch spanische italienisch anglais français espagnol allemand italien inglés ingles español francés alemán inglês
  português английский русский немецкий`.split(/\s+/)
