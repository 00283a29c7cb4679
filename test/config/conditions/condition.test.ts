/** Conditions: what compiles, the faults of what does not, the time at which each is evaluated, and the bounds of their cost. */
import t from 'tap'
import { type Condition, type ConditionProblem, compileCondition, isProblem } from '../../../src/config/conditions/condition.ts'
import { FUNCTIONS } from '../../../src/config/conditions/cost.ts'
import { defineFacts } from '../../../src/config/conditions/facts.ts'
import { isGroup, type Readers, VARIABLE_LIST } from '../../../src/config/conditions/variables.ts'
import { every } from '../../support/every.ts'

/** A value for each variable that the test names as `group.field` or `variable`; nothing for the rest. */
type Values = Readonly<Record<string, unknown>>

const READERS = Object.fromEntries(
  VARIABLE_LIST.map(([name, variable]) => [
    name,
    isGroup(variable)
      ? Object.fromEntries(Object.keys(variable.fields).map((field) => [field, (values: Values) => values[`${name}.${field}`]]))
      : (values: Values) => values[name],
  ]),
) as unknown as Readers<Values>
const Facts = defineFacts(READERS)

function compiled(text: string): Condition {
  const found = compileCondition(text)
  if (isProblem(found)) throw new Error(`${text}: ${found.message}`)
  return found
}

function problem(text: string): ConditionProblem {
  const found = compileCondition(text)
  if (!isProblem(found)) throw new Error(`${text}: compiles`)
  return found
}

const holds = (text: string, values: Values): unknown => compiled(text).test(new Facts(values))

t.test('conditions are evaluated over every type of variable', async (t) => {
  const values: Values = {
    'caller.name': 'ci',
    'request.stream': true,
    'request.max_output': 200,
    'request.tools': ['read', 'shell'],
    'request.metadata': { project: 'x', level: 4, nested: { list: [1, 2] } },
    'request.headers': { 'x-tier': 'gold' },
    'request.time': new Date('2026-12-01T22:30:00Z'),
    'cost.max_usd': 1.5,
    claims: { groups: ['a', 'b'], admin: true },
    arguments: { command: 'rm  -rf /', count: 3 },
  }
  await every(t, 'every condition', async (t) => {
    for (const [text, expected] of [
      ['caller.name == "ci" && request.stream', true],
      ['request.max_output > 100 && request.max_output < 200.5', true],
      ['request.tools.exists(tool, tool == "shell") && !("exec" in request.tools)', true],
      ['request.tools.filter(tool, tool.startsWith("s")).size() == 1', true],
      ['request.metadata.level > 3 && request.metadata.nested.list[1] == 2', true],
      ['has(request.metadata.none)', false],
      ['request.headers["x-tier"] in ["gold", "silver"]', true],
      ['request.time.getHours("Europe/Berlin") == 23 && request.time.getDayOfWeek() == 2', true],
      ['cost.max_usd > 1.0 ? true : false', true],
      ['claims.admin && "a" in claims.groups', true],
      ['arguments.command.matches(r"rm\\s+-rf")', true],
      ['arguments.command.lowerAscii().split(" ").join("").contains("rm-rf")', true],
      ['caller.name.matches("^c.$")', true],
      ['caller.name.matches("^i")', false],
      ['arguments.count == 3', true],
    ] as const)
      t.equal(holds(text, values), expected, text)
  })
})

t.test('a condition that cannot be evaluated says why in one word, without a value of the request', async (t) => {
  await every(t, 'every failure', async (t) => {
    for (const [text, values, reason] of [
      ['claims.group == "a"', { claims: {} }, 'no_such_key'],
      ['claims.group == "a"', { claims: { group: ['a'] } }, undefined],
      ['claims.level > 3', { claims: { level: 'secret words' } }, 'no_such_overload'],
      ['claims.flag', { claims: { flag: 'secret words' } }, 'not_bool'],
      ['arguments[arguments.name] == 1', { arguments: { name: 'secret words' } }, 'no_such_key'],
      ['caller.name == "a"', { 'caller.name': 'a'.repeat(2_000) }, 'too_large'],
      ['request.tools.size() == 0', { 'request.tools': Array.from({ length: 513 }, () => 'x') }, 'too_large'],
      ['arguments.text == ""', { arguments: { text: 'a'.repeat(70_000) } }, 'too_large'],
      ['arguments.deep == 1', { arguments: JSON.parse(`${'{"a":'.repeat(30)}1${'}'.repeat(30)}`) }, 'too_large'],
      ['request.time.getHours("Nowhere/Town") == 1', { 'request.time': new Date(0) }, 'error'],
    ] as const) {
      const found = holds(text, values)
      t.same(found, reason === undefined ? false : { reason }, text)
    }
  })
})

t.test('a fault names its place, what was expected and the remedy', async (t) => {
  await every(t, 'every fault', async (t) => {
    for (const [text, offset, message] of [
      ['caler.name == "x"', 0, /^no such variable caler$/],
      ['request.stream && caller.nam == "x"', 25, /^caller has no field nam$/],
      ['caller.name.startWith("x")', 0, /^conditions have no function startWith$/],
      ['caller.name + 1 == "x"', 0, /cannot compute string \+ int, expected two values of one type/],
      ['cost.max_usd == 1', 0, /write the number with a decimal point/],
      ['caller.name', 0, /expected a condition, true or false; this is of the type string/],
      ['caller.name = "x"', 12, /Unexpected character: =, expected an expression in CEL/],
      ['caller.name == "a" ||', 21, /at its end/],
      ['caller.name.matches(session.id)', 20, /expected a pattern in quotes/],
      ['caller.name.matches("(?=a)")', 20, /no look-around/],
      ['caller.name.matches("(")', 20, /this pattern cannot be taken/],
      ['cost.max_usd > 1.0 && endpoint.zdr', 22, /cost and endpoint are known at different times, expected two policies/],
      ['claims.exists(name, name == "x")', 0, /expected a claim by its name/],
      ['claims[caller.name] == 1', 0, /expected the name of a claim in quotes/],
      ['caller.name.size("x") == 1', 0, /no function has these types/],
      [`${'('.repeat(60)}true${')'.repeat(60)}`, 32, /too large/],
      [`caller.name in [${'"a", '.repeat(300)}"b"]`, 1_5, /too large/],
      [`caller.name == "${'a'.repeat(5_000)}"`, 4_096, /expected at most 4096 characters/],
      ['arguments.a.exists(x, arguments.b.exists(y, x == y))', 0, /may take [\d,]+ steps of the largest request, expected at most 100,000/],
      ['request.tools.all(a, request.tools.all(b, a != b))', 0, /one loop in another/],
      ['endpoint.zdr && request.headers.exists(name, name.contains("a"))', 0, /steps for each endpoint/],
      ['arguments.a.split("").map(x, x + x).join("") == "aa"', 0, /may take [\d,]+ steps/],
    ] as const) {
      const found = problem(text)
      t.match(found.message, message, text)
      if (!/too large/.test(found.message)) t.equal(found.offset, offset, text)
    }
  })
  t.match(problem('caller.nam == ""'), { word: 'nam', known: ['name'] })
})

t.test('the variables of a condition decide when it is evaluated, and which claims are kept', async (t) => {
  const stages = [
    'caller.name == ""',
    'endpoint.zdr',
    'model.slug == "" && caller.name == ""',
    'cost.max_usd > 1.0',
    'tool.name == ""',
  ].map((text) => compiled(text).stage)
  t.same(stages, ['request', 'endpoint', 'endpoint', 'cost', 'tool'])
  t.same(compiled('has(claims.a) && claims["b"] == 1 && "c" in claims && claims.d.e == 1').claims, ['a', 'b', 'c', 'd'])
  t.same(compiled('request.tools.exists(claims, claims == "a")').claims, [], 'a loop may have the name')
  t.equal(compiled('request.tools.exists(cost, cost == "a")').stage, 'request')
})

t.test('every variable and function of the tables can be read', async (t) => {
  await every(t, 'every variable', async (t) => {
    for (const [name, variable] of VARIABLE_LIST) {
      const names = isGroup(variable) ? Object.keys(variable.fields).map((field) => `${name}.${field}`) : [`${name}["x"]`]
      for (const each of names) t.notOk(isProblem(compileCondition(`dyn(${each}) == dyn("x")`)), each)
    }
  })
  t.equal(new Set(FUNCTIONS).size, FUNCTIONS.length)
})
