import { useState } from 'react'

type Value = string | boolean | number
interface TextChange {
  readonly currentTarget: { readonly value: string }
}
interface BoxChange {
  readonly currentTarget: { readonly checked: boolean }
}
type NamesOf<F, T> = { [K in keyof F & string]: F[K] extends T ? K : never }[keyof F & string]

/** The values of a form, and the properties that tie an input to one of them. */
export function useFields<F extends { readonly [name: string]: Value }>(initial: F) {
  const [values, setValues] = useState(initial)
  const set = (change: Partial<F>): void => setValues((current) => ({ ...current, ...change }))
  return {
    values,
    set,
    reset: () => setValues(initial),
    /** For text inputs and selects. */
    text: <K extends NamesOf<F, string>>(name: K) => ({
      name,
      value: values[name] as string,
      onChange: ({ currentTarget }: TextChange) => set({ [name]: currentTarget.value } as Partial<F>),
    }),
    number: <K extends NamesOf<F, number>>(name: K) => ({
      name,
      value: values[name] as number,
      onChange: (value: string | number) => set({ [name]: Number(value) } as Partial<F>),
    }),
    box: <K extends NamesOf<F, boolean>>(name: K) => ({
      name,
      checked: values[name] as boolean,
      onChange: ({ currentTarget }: BoxChange) => set({ [name]: currentTarget.checked } as Partial<F>),
    }),
  }
}
