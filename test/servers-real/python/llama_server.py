"""llama.cpp's own server (C++), as the wheel xllamacpp has it, in one process, until it is killed.

  llama_server.py PORT MODEL.gguf [setting=value ...]     settings are members of CommonParams, such as n_parallel=2 n_ctx=1024
"""
import sys
import threading

import xllamacpp


def value_like(old, text):
    if isinstance(old, bool):
        return text == "true"
    if isinstance(old, int) and text.lstrip("-").isdigit():
        return int(text)
    if isinstance(old, set):
        return set(text.split(","))
    return text


def main():
    port, model, settings = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    params = xllamacpp.CommonParams()
    params.port = port
    params.model.path = model
    params.endpoint_slots = True
    params.n_threads_http = 4
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    for setting in settings:
        name, _, text = setting.partition("=")
        if name == "pooling_type":
            params.pooling_type = getattr(xllamacpp.llama_pooling_type, text)
        else:
            setattr(params, name, value_like(getattr(params, name), text))
    server = xllamacpp.Server(params)
    print("listening", server.listening_address, flush=True)
    threading.Event().wait()


main()
