// In place of an engine: it gives the answers that the test has put before it.
onmessage = ({ data: { id, name, args } }) => {
  const unknown = { error: { code: "unsupported", message: "the function flor() is outside the dialect </script><b>", hint: "around aggregates stand ROUND and ABS", position: 8 } };
  const replies = {
    open: () => (atob(args[0].engine) === "damaged" ? { error: { code: "damaged", message: "the digest is another one" } } : { names: [["ward", '"<i>"']] }),
    ask: () => answers[args[0]] ?? unknown,
    complete: () => [{ text: "ward", kind: "column", from: 7 }, { text: "warm", kind: "column", from: 7 }],
  };
  if (args[0] !== "SELECT forever") postMessage({ id, text: JSON.stringify(replies[name]()) });
};
