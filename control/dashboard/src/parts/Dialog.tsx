import { Alert, Button, Code, CopyButton, Group, Modal, Stack, Text } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import type { FormEvent, ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { Problem } from './Problem.js'

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
  return (
    <Modal opened onClose={close} size={size} title={title} closeButtonProps={{ 'aria-label': t('close') }}>
      <Stack>{children}</Stack>
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
  const send = (event: FormEvent): void => {
    event.preventDefault()
    action.mutate()
  }
  return (
    <form onSubmit={send}>
      <Stack>
        {action.error !== null && <Problem error={action.error} />}
        {children}
        <Group {...(sticky ? { className: 'save-bar' } : {})}>
          <Button type="submit" loading={action.isPending} disabled={disabled}>
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  )
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
