import { setImmediate as endOfTurn } from 'node:timers/promises'
import { z } from 'zod'
import { IssueList, type ValidationResult, validate, type ZodIssue } from './validate.js'

/** Members of objects and elements of arrays that are judged before other work of the thread runs. */
const TURN_VALUES = 1_000

/**
 * Validates a body as `validate` does. One with many values is judged in parts, between which other requests run: the work
 * for one part is bounded, whatever is wrong with it.
 */
export async function validateInTurns(schema: z.ZodType, body: unknown): Promise<ValidationResult> {
  const sizes = sizesOf(body)
  if (sizeIn(sizes, body) <= TURN_VALUES) return validate(schema, body, 'body')
  const judge = new Judge(sizes, () => new IssueList(body, 'body'))
  const judged = await judge.value(schema, body, [])
  return judge.issues.empty ? { ok: true, value: judged.value } : judge.issues.result()
}

/** Number of values in each object and array, itself included. A scalar has no entry and counts as one. */
type Sizes = ReadonlyMap<unknown, number>

function sizesOf(root: unknown): Sizes {
  const sizes = new Map<unknown, number>()
  const measure = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 1
    let size = 1
    for (const member of Object.values(value)) size += measure(member)
    sizes.set(value, size)
    return size
  }
  measure(root)
  return sizes
}

const sizeIn = (sizes: Sizes, value: unknown): number => sizes.get(value) ?? 1

type Path = readonly PropertyKey[]

interface Judged {
  /** The parsed value, or the given one if something in it is wrong. */
  readonly value: unknown
  readonly isRight: boolean
}

class Judge {
  issues: IssueList
  readonly #sizes: Sizes
  readonly #newList: () => IssueList
  #inTurn = 0

  constructor(sizes: Sizes, newList: () => IssueList) {
    this.#sizes = sizes
    this.#newList = newList
    this.issues = newList()
  }

  /** Judges a value at a path of the body. */
  async value(schema: z.ZodType, value: unknown, path: Path): Promise<Judged> {
    const given = { value, isRight: false }
    if (this.#isSmall(value)) return this.#whole(schema, value, path)
    if (schema instanceof z.ZodOptional) return this.value(schema.unwrap() as z.ZodType, value, path)
    if (schema instanceof z.ZodArray && Array.isArray(value)) {
      // The elements of a list that is too long are not looked at.
      const frame = arrayFrame(schema)
      const problem = frame.safeParse(value).error?.issues.some(({ code }) => code !== 'custom') ?? false
      const parts = problem ? null : await this.#elements(schema.element as z.ZodType, value, path)
      if (parts === null) await this.#frame(frame, value, path, [path])
      return parts === null ? given : this.#frame(frame, parts, path, [])
    }
    if (Array.isArray(value) || typeof value !== 'object' || value === null) {
      return this.#whole(schema, value, path)
    }
    const members = value as Readonly<Record<string, unknown>>
    if (schema instanceof z.ZodRecord) {
      const parts = await this.#entries(schema, members, path)
      const frame = recordFrame(schema)
      if (parts === null) await this.#frame(frame, value, path, [path])
      return parts === null ? given : this.#frame(frame, parts, path, [])
    }
    if (schema instanceof z.ZodObject) return this.#object(schema, members, path)
    return this.#whole(schema, value, path)
  }

  #isSmall(value: unknown): boolean {
    return sizeIn(this.#sizes, value) <= TURN_VALUES
  }

  /** Ends the turn when the values that were judged in it are many. */
  async #pass(values: number): Promise<void> {
    this.#inTurn += values
    if (this.#inTurn < TURN_VALUES) return
    this.#inTurn = 0
    await endOfTurn()
  }

  async #whole(schema: z.ZodType, value: unknown, path: Path): Promise<Judged> {
    const parsed = schema.safeParse(value)
    if (!parsed.success) this.issues.add(parsed.error.issues.map((issue) => below(path, issue)))
    await this.#pass(sizeIn(this.#sizes, value))
    return parsed.success ? { value: parsed.data, isRight: true } : { value, isRight: false }
  }

  /**
   * Judges the rest of a value after its parts. `wrong` lists the paths of the parts that have issues. Leaves out an
   * issue of a custom rule about such a part, because it may only repeat what is wrong inside the part.
   */
  async #frame(schema: z.ZodType, value: unknown, path: Path, wrong: readonly Path[]): Promise<Judged> {
    const parsed = schema.safeParse(value)
    if (parsed.success) return { value: parsed.data, isRight: wrong.length === 0 }
    const issues = parsed.error.issues.map((issue) => below(path, issue))
    this.issues.add(
      issues.filter((issue) => issue.code !== 'custom' || !wrong.some((one) => isIn(one, issue.path))),
    )
    await endOfTurn()
    return { value, isRight: false }
  }

  /** Judges the members of an object that have many values on their own. What is wrong elsewhere is listed first. */
  async #object(
    schema: z.ZodObject,
    members: Readonly<Record<string, unknown>>,
    path: Path,
  ): Promise<Judged> {
    const { shape } = schema
    const large = Object.keys(shape).filter(
      (key) => Object.hasOwn(members, key) && !this.#isSmall(members[key]),
    )
    const rest: Record<string, unknown> = { ...members }
    const wrong: Path[] = []
    const before = this.issues
    this.issues = this.#newList()
    for (const key of large) {
      const judged = await this.value(shape[key] as z.ZodType, members[key], [...path, key])
      rest[key] = judged.value
      if (!judged.isRight) wrong.push([...path, key])
    }
    const inside = this.issues
    this.issues = before
    const judged = await this.#frame(objectFrame(schema, large), rest, path, wrong)
    this.issues.append(inside)
    return judged
  }

  /** Returns the parsed elements, or null if one is wrong. */
  async #elements(element: z.ZodType, values: readonly unknown[], path: Path): Promise<unknown[] | null> {
    const parsed: unknown[] = []
    let isRight = true
    for (const [index, value] of values.entries()) {
      const judged = await this.value(element, value, [...path, index])
      parsed.push(judged.value)
      isRight &&= judged.isRight
    }
    return isRight ? parsed : null
  }

  /** Returns the parsed members of a record, or null if one is wrong. */
  async #entries(
    schema: z.ZodRecord,
    members: Readonly<Record<string, unknown>>,
    path: Path,
  ): Promise<Record<string, unknown> | null> {
    const parsed: Record<string, unknown> = {}
    const { keyType, valueType } = schema
    const one = z.record(keyType as z.core.$ZodRecordKey, valueType)
    const name = z.record(keyType as z.core.$ZodRecordKey, z.unknown())
    let isRight = true
    for (const [key, value] of Object.entries(members)) {
      const isSmall = this.#isSmall(value)
      const entry = await this.#whole(isSmall ? one : name, { [key]: value }, path)
      const judged = isSmall ? entry : await this.value(valueType as z.ZodType, value, [...path, key])
      Object.assign(parsed, entry.value, isSmall ? {} : { [key]: judged.value })
      isRight &&= entry.isRight && judged.isRight
    }
    return isRight ? parsed : null
  }
}

function below(path: Path, issue: ZodIssue): ZodIssue {
  return { ...issue, path: [...path, ...issue.path] }
}

/** Tells whether a path leads through or to another one. */
function isIn(path: Path, whole: Path): boolean {
  return whole.length <= path.length && whole.every((step, i) => step === path[i])
}

const frames = new WeakMap<z.ZodType, Map<string, z.ZodType>>()

/** Returns a schema that judges everything but the named parts. Zod compiles a schema when it is used first. */
function frameOf(schema: z.ZodType, parts: string, make: () => z.ZodType): z.ZodType {
  const known = frames.get(schema) ?? new Map<string, z.ZodType>()
  frames.set(schema, known)
  const frame = known.get(parts) ?? make()
  known.set(parts, frame)
  return frame
}

function arrayFrame(schema: z.ZodArray): z.ZodType {
  return frameOf(schema, '', () => z.core.clone(schema, { ...schema.def, element: z.unknown() }))
}

function recordFrame(schema: z.ZodRecord): z.ZodType {
  return frameOf(schema, '', () =>
    z.core.clone(schema, { ...schema.def, keyType: z.string(), valueType: z.unknown() }),
  )
}

function objectFrame(schema: z.ZodObject, parts: readonly string[]): z.ZodType {
  return frameOf(schema, JSON.stringify(parts), () => {
    const open = Object.fromEntries(parts.map((key) => [key, z.unknown()]))
    return z.core.clone(schema, { ...schema.def, shape: { ...schema.def.shape, ...open } })
  })
}
