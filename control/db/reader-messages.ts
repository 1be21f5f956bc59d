/*
 * Messages between a database and its reading thread.
 */

export interface ReaderStatement {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

export type ReaderAnswer =
  | { readonly rows: unknown[] }
  | { readonly error: string; readonly transient: boolean }
