import {
  Button,
  Fieldset,
  Group,
  MultiSelect,
  NativeSelect,
  NumberInput,
  Stack,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core'
import { createContext, type ReactNode, useContext } from 'react'
import { useTranslations } from 'use-intl'
import { type Draft, valueAt } from './config.js'

/** The draft that the fields of a page change. */
export interface Editing {
  readonly draft: Draft
  readonly disabled: boolean
  readonly set: (path: string, value: unknown) => void
  /** Why the service refused the field. */
  readonly errorAt: (path: string) => string | undefined
  /** The refused paths. */
  readonly faulty: readonly string[]
}

export const EditingContext = createContext<Editing | null>(null)

export function useEditing(): Editing {
  const editing = useContext(EditingContext)
  if (editing === null) throw new Error('This field needs a draft.')
  return editing
}

/**
 * Returns what names a path: that of `callSettings.turnTaking.preset` is the text `turnTaking_preset`, those of entries of lists
 * have no index. A field that a later release adds shows its path.
 */
export function useFieldName(): (path: string, ending?: '_hint') => string | undefined {
  const t = useTranslations('agentForm')
  return (path, ending) => {
    const plain = path
      .replace(/^callSettings\./, '')
      .replace(/\[[^[\]]*\]/g, '')
      .replace(/\.text$/, '')
      .replaceAll('.', '_')
    // The keys of the texts are only known here.
    const key = `${plain}${ending ?? ''}` as 'name'
    if (t.has(key)) return t(key)
    return ending === undefined ? path : undefined
  }
}

/** Returns what all inputs of a path share. */
function useField(path: string) {
  const { draft, disabled, set, errorAt } = useEditing()
  const nameOf = useFieldName()
  const value = valueAt(draft, path)
  const error = errorAt(path)
  return {
    value,
    set: (next: unknown): void => set(path, next),
    props: {
      label: nameOf(path),
      description: nameOf(path, '_hint'),
      name: path,
      disabled,
      ...(error === undefined ? {} : { error }),
    },
  }
}

interface Changed {
  readonly currentTarget: { readonly value: string }
}

/** A text. `optional`: an empty one is stored as null. */
export function TextField(props: {
  readonly path: string
  readonly rows?: number
  readonly optional?: true
  readonly required?: true
  readonly maxLength?: number
}) {
  const { path, rows, optional, ...rest } = props
  const field = useField(path)
  const input = {
    ...field.props,
    ...rest,
    value: (field.value as string | null | undefined) ?? '',
    onChange: ({ currentTarget }: Changed) =>
      field.set(optional && currentTarget.value === '' ? null : currentTarget.value),
  }
  return rows === undefined ? <TextInput {...input} /> : <Textarea autosize minRows={rows} {...input} />
}

/** A sentence that is spoken: `{ text }`, or null when it is empty. `fixed`: it is never null. */
export function LineField({ path, fixed }: { readonly path: string; readonly fixed?: true }) {
  const field = useField(path)
  const { errorAt } = useEditing()
  const text = valueAt(field.value, 'text')
  const error = errorAt(`${path}.text`) ?? field.props.error
  return (
    <Textarea
      {...field.props}
      {...(error === undefined ? {} : { error })}
      autosize
      maxLength={1_000}
      value={typeof text === 'string' ? text : ''}
      onChange={({ currentTarget: { value } }) =>
        field.set(value === '' && fixed === undefined ? null : { text: value })
      }
    />
  )
}

/** A number. `optional`: an empty field is stored as null. */
export function NumberField(props: {
  readonly path: string
  readonly min: number
  readonly max: number
  readonly step?: number
  readonly decimalScale?: number
  readonly optional?: true
}) {
  const { path, optional, ...rest } = props
  const field = useField(path)
  return (
    <NumberInput
      {...field.props}
      {...rest}
      // The service refuses a value outside of the limits: a silent correction could be overlooked.
      clampBehavior="none"
      value={(field.value as number | null | undefined) ?? ''}
      onChange={(value) => field.set(value === '' ? (optional ? null : props.min) : Number(value))}
    />
  )
}

export function SwitchField({ path }: { readonly path: string }) {
  const field = useField(path)
  return (
    <Switch
      {...field.props}
      checked={field.value === true}
      onChange={({ currentTarget }) => field.set(currentTarget.checked)}
    />
  )
}

export interface Option {
  readonly value: string
  readonly label: string
}

/** One of several values. `none` names the choice of no value, which is stored as null. */
export function ChoiceField(props: {
  readonly path: string
  readonly options: readonly Option[]
  readonly none?: string
}) {
  const { path, options, none } = props
  const field = useField(path)
  const value = (field.value as string | null | undefined) ?? ''
  return (
    <NativeSelect
      {...field.props}
      value={value}
      onChange={({ currentTarget }) => field.set(currentTarget.value === '' ? null : currentTarget.value)}
      data={withStored([...(none === undefined ? [] : [{ value: '', label: none }]), ...options], value)}
    />
  )
}

/** Keeps a stored value selectable that is not offered, such as a voice of a vendor that is not configured. */
export function withStored(options: readonly Option[], value: string): Option[] {
  return options.some((option) => option.value === value)
    ? [...options]
    : [{ value, label: value }, ...options]
}

/** Several of the offered values. */
export function ChoicesField({
  path,
  options,
}: {
  readonly path: string
  readonly options: readonly Option[]
}) {
  const field = useField(path)
  const values = (field.value as readonly string[] | undefined) ?? []
  const { faulty, errorAt } = useEditing()
  // The service names the entry of the list.
  const entry = faulty.find((at) => at.startsWith(`${path}[`))
  return (
    <MultiSelect
      {...field.props}
      {...(entry === undefined ? {} : { error: errorAt(entry) })}
      value={[...values]}
      onChange={field.set}
      data={values.reduce<Option[]>((all, value) => withStored(all, value), [...options])}
    />
  )
}

/** Several words of the user's own. */
export function WordsField({ path }: { readonly path: string }) {
  const field = useField(path)
  return (
    <TagsInput
      {...field.props}
      splitChars={[',', '\n']}
      value={[...((field.value as readonly string[] | undefined) ?? [])]}
      onChange={field.set}
    />
  )
}

/** Names with values, a line each: `Name: value`. */
export function PairsField({ path }: { readonly path: string }) {
  const field = useField(path)
  const { faulty, errorAt } = useEditing()
  const entry = faulty.find((at) => at.startsWith(`${path}.`))
  return (
    <Textarea
      {...field.props}
      {...(entry === undefined ? {} : { error: `${entry.slice(path.length + 1)}: ${errorAt(entry)}` })}
      autosize
      // The text is read when the field is left: half a line is no pair yet.
      key={JSON.stringify(field.value)}
      defaultValue={Object.entries((field.value as Readonly<Record<string, string>> | undefined) ?? {})
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n')}
      onBlur={({ currentTarget }) =>
        field.set(
          Object.fromEntries(
            currentTarget.value
              .split('\n')
              .filter((line) => line.trim() !== '')
              .map((line) => {
                const [name = '', ...rest] = line.split(':')
                return [name.trim(), rest.join(':').trim()]
              }),
          ),
        )
      }
    />
  )
}

/** The entries of a list, each with a button to remove it, and a button to add one. */
export function Entries<T>(props: {
  readonly path: string
  readonly most: number
  /** Names an entry: its place counts from 1. */
  readonly nameOf: (entry: T, place: number) => string
  readonly add: string
  readonly fresh: () => unknown
  readonly children: (at: string, entry: T) => ReactNode
}) {
  const { path, most, nameOf, add, fresh, children } = props
  const t = useTranslations('agentForm')
  const { draft, disabled, set, errorAt } = useEditing()
  const entries = (valueAt(draft, path) as readonly T[] | undefined) ?? []
  const error = errorAt(path)
  return (
    <Stack gap="sm">
      {entries.map((entry, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: entries have no name of their own while they are written
        <Fieldset key={index} legend={nameOf(entry, index + 1)} className="entry" variant="unstyled">
          <Stack gap="sm">
            {children(`${path}[${index}]`, entry)}
            {!disabled && (
              <Group>
                <Button
                  size="xs"
                  variant="default"
                  aria-label={t('removeEntry', { name: nameOf(entry, index + 1) })}
                  onClick={() =>
                    set(
                      path,
                      entries.filter((_, at) => at !== index),
                    )
                  }
                >
                  {t('remove')}
                </Button>
              </Group>
            )}
          </Stack>
        </Fieldset>
      ))}
      {error !== undefined && <p role="alert">{error}</p>}
      {!disabled && entries.length < most && (
        <div>
          <Button size="xs" variant="default" onClick={() => set(path, [...entries, fresh()])}>
            {add}
          </Button>
        </div>
      )}
    </Stack>
  )
}

/** A part of the form that is opened with its heading. It opens by itself when one of its fields was refused. */
export function Section(props: {
  readonly title: string
  /** The beginnings of the paths of its fields. */
  readonly paths: readonly string[]
  readonly opened?: boolean
  readonly children: ReactNode
}) {
  const { title, paths, opened = false, children } = props
  const { faulty } = useEditing()
  const refused = faulty.some((path) => paths.some((start) => path.startsWith(start)))
  return (
    <details className="part" key={String(refused)} open={opened || refused}>
      <summary>{title}</summary>
      <div>
        <Stack>{children}</Stack>
      </div>
    </details>
  )
}
