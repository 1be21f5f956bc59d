import type { Kysely } from 'kysely'
import type { Engine } from './open.js'

export type CallingTables = Record<never, never>

/** Migration 0002: agents, numbers, calls and what they leave behind. */
export async function createCallingTables(_db: Kysely<unknown>, _engine: Engine): Promise<void> {}
