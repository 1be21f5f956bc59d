import { Alert, Button, Code, CopyButton, Group, Modal, Stack, Text } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { useTranslations } from 'use-intl'
import { useFocusBack } from './focus.js'
import { fieldsOf, Problem } from './Problem.js'
import { useSentence } from './Word.js'

type Action<R = unknown> = Pick<UseMutationResult<R, Error, void>, 'mutate' | 'error' | 'isPending'>

/** A window above the page. Its opener gets the focus back. */
export function Dialog(props: {
  readonly title: string
  readonly close: () => void
  readonly size?: string
  readonly children: ReactNode
}) {
  const t = useTranslations('common')
  const { title, close, size = 'md', children } = props
  useFocusBack()
  return (
    <Modal opened onClose={close} size={size} title={title} closeButtonProps={{ 'aria-label': t('close') }}>
      <Stack>{children}</Stack>
    </Modal>
  )
}

/** A window with what the service shows only once. It closes by the button that says that it is kept, and no other way. */
export function KeptDialog(props: {
  readonly title: string
  readonly close: () => void
  readonly size?: string
  /** Further buttons, before the one that closes. */
  readonly buttons?: ReactNode
  readonly children: ReactNode
}) {
  const t = useTranslations('common')
  const { title, close, size = 'md', buttons, children } = props
  useFocusBack()
  useEffect(() => {
    // The browser asks before the page is left.
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    window.addEventListener('beforeunload', ask)
    return () => window.removeEventListener('beforeunload', ask)
  }, [])
  return (
    <Modal
      opened
      onClose={close}
      size={size}
      title={title}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
    >
      <Stack>
        {children}
        <Group gap="sm">
          {buttons}
          <Button onClick={close}>{t('kept')}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}

/** A form: what the service refused, the inputs, and one button. */
export function Form(props: {
  readonly action: Action
  readonly submit: string
  readonly disabled?: boolean
  /** Keeps the button of a long form in sight. */
  readonly sticky?: boolean
  readonly children: ReactNode
}) {
  const { action, submit, disabled = false, sticky = false, children } = props
  const form = useRef<HTMLFormElement>(null)
  const { notes, paths } = useRefused(form, action.error)
  const send = (event: FormEvent): void => {
    event.preventDefault()
    action.mutate()
  }
  return (
    <form ref={form} onSubmit={send}>
      <Stack>
        {action.error !== null && <Problem error={action.error} placed={paths} />}
        {children}
        {notes}
        <Group {...(sticky ? { className: 'save-bar' } : {})}>
          <Button type="submit" loading={action.isPending} disabled={disabled}>
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

interface Place {
  readonly path: string
  readonly id: string
  readonly reason: string
  readonly at: Element
}

/**
 * Marks the inputs whose fields the service refused, gives the first one the focus, and returns the reasons, each below its input,
 * and the paths of these fields. An input belongs to the field whose path ends with its name.
 */
function useRefused(
  form: { readonly current: HTMLFormElement | null },
  error: Error | null,
): { readonly notes: ReactNode; readonly paths: readonly string[] } {
  const sentence = useSentence()
  const [places, setPlaces] = useState<readonly Place[]>([])
  useEffect(() => {
    const marked: { readonly input: Element; readonly described: string | null }[] = []
    const found = fieldsOf(error).flatMap(({ path, reason }, index): Place[] => {
      const name = /[^.[\]]{1,200}$/.exec(path)?.[0] ?? ''
      const input = form.current?.querySelector(`[name="${CSS.escape(name)}"]`)
      const at = input?.closest('.mantine-InputWrapper-root')
      if (input == null || at == null) return []
      const id = `refused-${index}-${name}`
      input.setAttribute('aria-invalid', 'true')
      const described = input.getAttribute('aria-describedby')
      input.setAttribute('aria-describedby', [described, id].filter((part) => part !== null).join(' '))
      marked.push({ input, described })
      return [{ path, id, reason, at }]
    })
    setPlaces(found)
    const first = marked[0]?.input
    if (first instanceof HTMLElement) first.focus()
    return () => {
      for (const { input, described } of marked) {
        input.removeAttribute('aria-invalid')
        if (described === null) input.removeAttribute('aria-describedby')
        else input.setAttribute('aria-describedby', described)
      }
    }
  }, [form, error])
  const notes = places.map(({ id, reason, at }) =>
    createPortal(
      <Text id={id} size="xs" c="var(--mantine-color-error)" mt={4}>
        {sentence(reason)}
      </Text>,
      at,
      id,
    ),
  )
  return { notes, paths: places.map(({ path }) => path) }
}

/** A form in a window. */
export function FormDialog(
  props: Parameters<typeof Form>[0] & {
    readonly title: string
    readonly close: () => void
    readonly size?: string
  },
) {
  const { title, close, size, ...form } = props
  return (
    <Dialog title={title} close={close} {...(size === undefined ? {} : { size })}>
      <Form {...form} />
    </Dialog>
  )
}

/** Asks before something that cannot be taken back, or that costs money. */
export function Confirm(props: {
  readonly title: string
  readonly text: ReactNode
  readonly label: string
  readonly action: Action
  readonly close: () => void
}) {
  const t = useTranslations('common')
  const { title, text, label, action, close } = props
  return (
    <Dialog title={title} close={close}>
      <Text component="div">{text}</Text>
      {action.error !== null && <Problem error={action.error} />}
      <Group>
        <Button color="red.9" onClick={() => action.mutate()} loading={action.isPending}>
          {label}
        </Button>
        <Button variant="default" onClick={close}>
          {t('cancel')}
        </Button>
      </Group>
    </Dialog>
  )
}

/** Secrets that the service shows only once, a line each, with a button to copy. */
export function Once(props: {
  readonly text: string
  readonly secrets: readonly (readonly [name: string, value: string])[]
}) {
  const t = useTranslations('common')
  return (
    <>
      <Alert color="orange">{props.text}</Alert>
      {props.secrets.map(([name, value]) => (
        <div key={name}>
          <Text size="sm">{name}</Text>
          <Group gap="xs" wrap="nowrap">
            <Code block tabIndex={0} style={{ flex: 1, minWidth: 0 }}>
              {value}
            </Code>
            {/* Pages that were loaded over plain HTTP have no clipboard. */}
            {'clipboard' in navigator && (
              <CopyButton value={value}>
                {({ copied, copy }) => (
                  <Button variant="default" onClick={copy} aria-label={t('copyOf', { name })}>
                    {copied ? t('copied') : t('copy')}
                  </Button>
                )}
              </CopyButton>
            )}
          </Group>
        </div>
      ))}
    </>
  )
}
